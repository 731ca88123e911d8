"""Errors about linked accounts."""

from domain.errors import BadRequest


class AccountNotFound(BadRequest):
    """The caller has no such account."""

    message = "Account not found"


class FailedToUnlinkLastAccount(BadRequest):
    """Removing this account would leave the user without a way to sign in."""

    message = "You can't unlink your last account"
