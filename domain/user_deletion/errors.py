"""Errors about the deletion of a user."""

from domain.errors import NotFound


class InvalidDeletionToken(NotFound):
    """The deletion token is missing, unknown, expired, used, or another user's."""

    code = "INVALID_TOKEN"
    message = "Invalid token"
