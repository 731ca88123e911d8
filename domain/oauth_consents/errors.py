"""Errors about consents."""

from domain.errors import NotFound


class ConsentNotFound(NotFound):
    """The caller has no consent with this id; the consents of other users count as not found, too."""

    message = "Consent not found"
