"""Errors about sessions."""

from domain.errors import BadRequest, Forbidden


class SessionExpired(BadRequest):
    """The session is too old for an action that would otherwise need the password."""

    message = "Session expired. Re-authenticate to perform this action."


class SessionNotFresh(Forbidden):
    """The caller signed in too long ago for a change that needs a fresh session (`session.fresh_age`)."""

    message = "Session is not fresh"
