"""The business rules. They use no HTTP, environment variables, clock or network directly."""

LOADED_LATER = ("domain.locale_formats",)
"""Modules that declare nothing and load a library that a start does not need."""
