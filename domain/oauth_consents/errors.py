"""Errors about consents."""

from domain.errors import NotFound


class ConsentNotFound(NotFound):
    """The caller has no such consent; that of another user looks the same."""

    message = "Consent not found"
