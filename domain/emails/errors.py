"""Errors about email addresses."""

from domain.errors import BadRequest, Unauthenticated


class VerificationEmailNotEnabled(BadRequest):
    """Verification emails are disabled."""

    message = "Verification email isn't enabled"


class EmailMismatch(BadRequest):
    """The address is not that of the signed-in caller."""

    message = "Email mismatch"


class EmailAlreadyVerified(BadRequest):
    """The address is already verified."""

    message = "Email is already verified"


class InvalidUser(Unauthenticated):
    """The link belongs to a user other than the one signed in."""

    message = "Invalid user"


class ChangeEmailDisabled(BadRequest):
    """Changing the email address is disabled."""

    message = "Change email is disabled"
