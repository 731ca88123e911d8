"""Handlers of the small contract: each gives back what it was called with."""
