"""Errors of the second factor."""

from domain.errors import BadRequest, Limited, Unauthenticated, Unavailable


class InvalidTwoFactorCookie(Unauthenticated):
    """Neither a session nor an active challenge."""

    message = "Invalid two factor cookie"
    ends_challenge = True


class TotpNotEnabled(BadRequest):
    """There is no TOTP secret."""

    message = "TOTP not enabled"


class InvalidCode(Unauthenticated):
    """The code is wrong; counts as an attempt."""

    message = "Invalid code"
    keeps_writes = True


class OtpNotConfigured(BadRequest):
    """Email codes are disabled, or there is no sender for them."""

    message = "OTP is not available"


class TwoFactorNotEnabled(BadRequest):
    """Nothing is enabled, and there is no pending enrolment."""

    message = "Two factor isn't enabled"


class OtpHasExpired(BadRequest):
    """There is no active email code."""

    message = "OTP has expired"


class BackupCodesNotEnabled(BadRequest):
    """There are no backup codes."""

    message = "Backup codes aren't enabled"


class InvalidBackupCode(Unauthenticated):
    """The backup code is wrong; counts as an attempt."""

    message = "Invalid backup code"
    keeps_writes = True


class TooManyAttemptsRequestNewCode(BadRequest):
    """The challenge or code has no attempts left."""

    message = "Too many attempts. Please request a new code."
    keeps_writes = True


class ChallengeSpent(TooManyAttemptsRequestNewCode):
    """Like its family, if no attempts are left for the whole sign-in: it begins again with the password."""

    code = "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
    ends_challenge = True


class UndecipherableSecret(Unavailable):
    """The authenticator's secret is encrypted under a key that is not configured any more; codes cannot be checked."""

    code = "SERVICE_UNAVAILABLE"


class AccountTemporarilyLocked(Limited):
    """The second factor is locked for a while."""

    code = "ACCOUNT_TEMPORARILY_LOCKED"
    message = "Too many failed verification attempts. Please try again later."
