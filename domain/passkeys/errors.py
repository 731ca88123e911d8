"""Errors of passkeys."""

from domain.errors import BadRequest, NotFound, Unauthenticated


class TooManyPasskeys(BadRequest):
    """The user has `passkey.max_per_user` passkeys."""

    message = "Too many passkeys"


class ChallengeNotFound(BadRequest):
    """The challenge is unknown, used, expired, of another ceremony, or of another session."""

    message = "Challenge not found"


class FailedToVerifyRegistration(BadRequest):
    """The response of the authenticator is malformed, or for another site."""

    message = "Failed to verify registration"


class PreviouslyRegistered(BadRequest):
    """The credential is known already, to whomever it belongs."""

    message = "Previously registered"


class FailedToDeleteLastPasskey(BadRequest):
    """Without the passkey, the user could not sign in again."""

    message = "You can't delete your last way to sign in"


class PasskeyNotFound(NotFound):
    """The user has no such passkey."""

    message = "Passkey not found"


class CredentialUnknown(Unauthenticated):
    """No user has a passkey with this credential id."""

    code = "PASSKEY_NOT_FOUND"
    message = "Passkey not found"


class AuthenticationFailed(Unauthenticated):
    """The response of the authenticator proves nothing."""

    code = "AUTHENTICATION_FAILED"
    message = "Authentication failed"
