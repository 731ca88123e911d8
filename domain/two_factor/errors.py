"""Errors of the second factor."""

from domain.errors import BadRequest, Limited, Unauthenticated, Unavailable


class InvalidTwoFactorCookie(Unauthenticated):
    """The request has neither an active session nor an active challenge."""

    message = "Invalid two factor cookie"
    ends_challenge = True


class TotpNotEnabled(BadRequest):
    """The user has no authenticator (TOTP secret)."""

    message = "TOTP not enabled"


class InvalidCode(Unauthenticated):
    """The code is wrong; counts as an attempt."""

    message = "Invalid code"
    keeps_writes = True


class OtpNotConfigured(BadRequest):
    """Email codes are disabled, no mail sender is configured, or the first factor was an email already."""

    message = "OTP is not available"


class TwoFactorNotEnabled(BadRequest):
    """The user has no second factor; for a code by email, no pending enrolment either."""

    message = "Two factor isn't enabled"


class OtpHasExpired(BadRequest):
    """No email code was sent, or it has expired or was used."""

    message = "OTP has expired"


class BackupCodesNotEnabled(BadRequest):
    """The user has no backup codes."""

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
    """The challenge has no attempts left, so the user must begin the sign-in again."""

    code = "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
    ends_challenge = True


class UndecipherableSecret(Unavailable):
    """Codes cannot be checked, because the key that encrypts the authenticator's secret is not configured any more."""

    code = "SERVICE_UNAVAILABLE"


class AccountTemporarilyLocked(Limited):
    """The second factor is locked temporarily after too many wrong codes."""

    code = "ACCOUNT_TEMPORARILY_LOCKED"
    message = "Too many failed verification attempts. Please try again later."
