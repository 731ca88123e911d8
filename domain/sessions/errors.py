"""Errors about sessions."""

from domain.errors import BadRequest, Forbidden


class SessionExpired(BadRequest):
    """The session is too old to do this without a password."""

    message = "Session expired. Re-authenticate to perform this action."


class SessionNotFresh(Forbidden):
    """The caller signed in too long ago for a consequential change."""

    message = "Session is not fresh"
