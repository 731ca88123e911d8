"""Errors of email codes."""

from domain.errors import BadRequest, Forbidden


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
