"""Errors about passwords."""

from domain.errors import BadRequest


class PasswordTooShort(BadRequest):
    """The new password has fewer code points than `password.min_length` after NFKC normalization."""

    message = "Password too short"


class PasswordTooLong(BadRequest):
    """The new password has more than `password.max_length` code points after NFKC normalization, or 1,024 as sent."""

    message = "Password too long"


class PasswordTooCommon(BadRequest):
    """The new password is on the blocklist, or equals the user's address, username or name, or the service's name."""

    message = "Password is too common"


class InvalidPassword(BadRequest):
    """The current password is wrong, or the user has none. It counts as a failed attempt."""

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
