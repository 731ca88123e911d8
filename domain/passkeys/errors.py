"""Errors of passkeys."""

from domain.errors import BadRequest, NotFound, Unauthenticated


class TooManyPasskeys(BadRequest):
    """The user already has `passkey.max_per_user` passkeys."""

    message = "Too many passkeys"


class ChallengeNotFound(BadRequest):
    """The challenge is unknown, used or expired, or was created for another operation or session."""

    message = "Challenge not found"


class FailedToVerifyRegistration(BadRequest):
    """The response of the authenticator is malformed, or for another site."""

    message = "Failed to verify registration"


class PreviouslyRegistered(BadRequest):
    """A passkey with this credential id already exists, for this or another user."""

    message = "Previously registered"


class FailedToDeleteLastPasskey(BadRequest):
    """The passkey is the user's only way to sign in."""

    message = "You can't delete your last way to sign in"


class PasskeyNotFound(NotFound):
    """The user has no such passkey."""

    message = "Passkey not found"


class CredentialUnknown(Unauthenticated):
    """No user has a passkey with this credential id."""

    code = "PASSKEY_NOT_FOUND"
    message = "Passkey not found"


class AuthenticationFailed(Unauthenticated):
    """The response of the authenticator is malformed or invalid, or belongs to another user or site."""

    code = "AUTHENTICATION_FAILED"
    message = "Authentication failed"
