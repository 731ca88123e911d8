"""The business rules. They use no HTTP, environment variables, clock or network directly."""

LOADED_LATER = ("domain.locale_formats",)
"""Modules that are skipped when all modules are imported: they register nothing, and load a library that the service
does not need at its start."""
