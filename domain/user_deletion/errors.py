"""Errors about the deletion of a user."""

from domain.errors import BadRequest, NotFound


class InvalidDeletionToken(NotFound):
    """The deletion token is missing, unknown, expired, used, or another user's."""

    code = "INVALID_TOKEN"
    message = "Invalid token"


class InvalidDisownToken(BadRequest):
    """The token is unknown, expired or used, or the address of its user was verified or changed."""

    code = "INVALID_TOKEN"
    message = "Invalid token"
