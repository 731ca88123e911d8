"""The rules: no HTTP, no environment, no clock and no network of their own."""

LOADED_LATER = ("domain.locale_formats",)
"""Modules that declare nothing and load a library that a start does not need."""
