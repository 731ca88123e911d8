"""Errors about email addresses."""

from domain.errors import BadRequest, Unauthenticated


class VerificationEmailNotEnabled(BadRequest):
    """Verification mails are switched off."""

    message = "Verification email isn't enabled"


class EmailMismatch(BadRequest):
    """A signed-in caller asks for another address."""

    message = "Email mismatch"


class EmailAlreadyVerified(BadRequest):
    """There is nothing left to verify."""

    message = "Email is already verified"


class InvalidUser(Unauthenticated):
    """The link belongs to another user than the one signed in."""

    message = "Invalid user"


class ChangeEmailDisabled(BadRequest):
    """Changing the address is switched off."""

    message = "Change email is disabled"
