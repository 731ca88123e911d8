"""Errors about sessions."""

from domain.errors import BadRequest


class SessionExpired(BadRequest):
    """The session is too old to do this without a password."""

    message = "Session expired. Re-authenticate to perform this action."
