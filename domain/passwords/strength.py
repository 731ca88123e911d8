"""The requirements of a new password, the same for sign-up, reset and change."""

import unicodedata

from domain.passwords.errors import PasswordTooCommon, PasswordTooLong, PasswordTooShort
from domain.passwords.policy import Blocklist, PasswordPolicy
from domain.policy import Policy

LONGEST_PASSWORD = 1024
"""The maximum number of code points as sent; longer passwords are refused before any other work."""


def canonical(text: str) -> str:
    """Return the text in case-folded NFKC form, in which passwords are compared with the blocklist."""
    return unicodedata.normalize("NFKC", text).casefold()


def check_length(rules: PasswordPolicy, password: str) -> None:
    """Check the length of a new password. Raises PasswordTooLong, PasswordTooShort."""
    # Before normalizing: NFKC of long combining sequences is slow.
    if len(password) > LONGEST_PASSWORD:  # defence: V72 R35 new-password-length
        raise PasswordTooLong(maximumLength=rules.max_length)
    length = len(unicodedata.normalize("NFKC", password))
    if length > rules.max_length:
        raise PasswordTooLong(maximumLength=rules.max_length)
    if length < rules.min_length:
        raise PasswordTooShort(minimumLength=rules.min_length)


def check_common(
    policy: Policy, password: str, *, email: str, username: str | None, name: str | None
) -> None:
    """Check that a new password is not a common one, nor equal to the user's address or names, or the service's name.

    The part of the address before the @ counts as a name. Do nothing if the blocklist is disabled. Call it after
    `check_length`. Raises PasswordTooCommon.
    """
    if not policy[PasswordPolicy].blocklist:
        return
    canonical_password = canonical(password)
    personal = (email, email.partition("@")[0], username, name, policy.app_name)
    if canonical_password in policy[Blocklist].passwords or any(
        text and canonical(text) == canonical_password for text in personal
    ):
        raise PasswordTooCommon


def check(policy: Policy, password: str, *, email: str, username: str | None, name: str | None) -> None:
    """Check a new password by `check_length` and `check_common`.

    Raises PasswordTooLong, PasswordTooShort, PasswordTooCommon.
    """
    check_length(policy[PasswordPolicy], password)
    check_common(policy, password, email=email, username=username, name=name)
