"""Errors about signed tokens and signing keys."""

from domain.errors import BadRequest


class AudienceNotAllowed(BadRequest):
    """The audience is none of `jwt.audiences`."""

    message = "Audience not allowed"
