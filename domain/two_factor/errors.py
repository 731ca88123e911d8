"""Errors of the second factor."""

from domain.errors import BadRequest, Limited, Unauthenticated, Unavailable


class InvalidTwoFactorCookie(Unauthenticated):
    """Neither a session nor a live challenge."""

    message = "Invalid two factor cookie"
    ends_challenge = True


class TotpNotEnabled(BadRequest):
    """There is no TOTP secret."""

    message = "TOTP not enabled"


class InvalidCode(Unauthenticated):
    """The code is wrong; it counts as an attempt."""

    message = "Invalid code"
    keeps_writes = True


class OtpNotConfigured(BadRequest):
    """Mail codes are off, or nothing sends them."""

    message = "OTP is not available"


class TwoFactorNotEnabled(BadRequest):
    """Nothing is switched on and nothing is being enrolled."""

    message = "Two factor isn't enabled"


class OtpHasExpired(BadRequest):
    """There is no live mail code."""

    message = "OTP has expired"


class BackupCodesNotEnabled(BadRequest):
    """There are no backup codes."""

    message = "Backup codes aren't enabled"


class InvalidBackupCode(Unauthenticated):
    """The backup code is wrong; it counts as an attempt."""

    message = "Invalid backup code"
    keeps_writes = True


class TooManyAttemptsRequestNewCode(BadRequest):
    """The challenge or code has no attempts left."""

    message = "Too many attempts. Please request a new code."
    keeps_writes = True


class ChallengeSpent(TooManyAttemptsRequestNewCode):
    """As its family, where no attempts are left for the whole sign-in: it begins again with the password."""

    code = "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
    ends_challenge = True


class UndecipherableSecret(Unavailable):
    """The authenticator's secret is encrypted under a key that is gone; no code can be told right or wrong."""

    code = "SERVICE_UNAVAILABLE"


class AccountTemporarilyLocked(Limited):
    """The second factor is locked for a while."""

    code = "ACCOUNT_TEMPORARILY_LOCKED"
    message = "Too many failed verification attempts. Please try again later."
