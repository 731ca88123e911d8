"""Errors of sign-in by mail."""

from domain.errors import BadRequest, Forbidden
from domain.users.errors import BannedUser


class InvalidOtp(BadRequest):
    """The code is wrong, used, unknown or for another purpose; a wrong one counts as a failure."""

    message = "Invalid OTP"
    keeps_writes = True


class OtpExpired(BadRequest):
    """The code has expired."""

    message = "OTP expired"


class TooManyAttempts(Forbidden):
    """No attempt is left for the code, which is deleted."""

    message = "Too many attempts"
    keeps_writes = True


class NewUserSignupDisabled(Forbidden):
    """There is no such user, and none may be created; the link or code is used up."""

    message = "New user sign up is disabled"
    keeps_writes = True


class BannedMailboxUser(BannedUser):
    """The link or code was right, but the user is banned; it is used up."""

    code = BannedUser.code
    keeps_writes = True
