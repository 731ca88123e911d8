"""Errors about sessions (behaviour 3.5, 5.4)."""

from domain.errors import BadRequest


class SessionExpired(BadRequest):
    """The session is too old for this without a password."""

    message = "Session expired. Re-authenticate to perform this action."
