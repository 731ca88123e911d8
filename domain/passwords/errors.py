"""Errors about passwords."""

from domain.errors import BadRequest


class PasswordTooShort(BadRequest):
    """Fewer code points than `password.min_length` after NFKC."""

    message = "Password too short"


class PasswordTooLong(BadRequest):
    """More code points than `password.max_length` after NFKC, or than 1,024 as sent."""

    message = "Password too long"


class PasswordTooCommon(BadRequest):
    """On the blocklist, or equal to a value that attackers try first."""

    message = "Password is too common"


class InvalidPassword(BadRequest):
    """Wrong current password, or the user has none; counts as a failure."""

    message = "Invalid password"
    # The counter of the failure is committed although the response is an error.
    keeps_writes = True  # defence: V68 password-refusal


class CredentialAccountNotFound(BadRequest):
    """The user has no password to change."""

    message = "Credential account not found"


class ResetPasswordDisabled(BadRequest):
    """No sender for reset emails is configured."""

    message = "Reset password isn't enabled"


class InvalidResetToken(BadRequest):
    """The reset token is missing, unknown, expired or used."""

    code = "INVALID_TOKEN"
    message = "Invalid token"
