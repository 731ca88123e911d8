"""Errors about linked accounts."""

from domain.errors import BadRequest


class AccountNotFound(BadRequest):
    """The caller has no such account."""

    message = "Account not found"


class FailedToUnlinkLastAccount(BadRequest):
    """Without it the user could not sign in any more."""

    message = "You can't unlink your last account"
