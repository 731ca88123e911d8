"""Errors about signed tokens and signing keys."""

from domain.errors import BadRequest, Conflict, NotFound


class AudienceNotAllowed(BadRequest):
    """The requested audience is none of `jwt.audiences`."""

    message = "Audience not allowed"


class SigningKeyNotFound(NotFound):
    """There is no signing key with this thumbprint."""

    message = "Signing key not found"


class SigningKeyAlreadyAnnounced(Conflict):
    """The key that signs next is already published."""

    message = "The next signing key is already announced"


class SigningKeyAlreadyRevoked(Conflict):
    """The signing key is already revoked."""

    message = "The signing key is already revoked"
