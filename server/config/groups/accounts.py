"""The settings of linked accounts."""

from typing import Annotated

from domain.accounts.policy import AccountPolicy
from domain.social.policy import LinkingPolicy
from server.config.base import Group
from server.config.value_types import Items, setting


class AccountLinkingSettings(Group):
    """`account_linking.*`: one user, several ways to sign in."""

    key = "account_linking"

    fills = (LinkingPolicy, AccountPolicy)

    enabled: bool = setting(True, "Whether provider accounts can be linked to users.")
    implicit: bool = setting(True, "Whether sign-in links an account with the same address.")
    require_local_verified: bool = setting(
        True, "Whether implicit linking needs the user's own address verified."
    )
    trusted_providers: Annotated[tuple[str, ...], Items] = setting(
        (), "Providers whose email addresses count as verified even if they do not say so."
    )
    allow_different_emails: bool = setting(False, "Whether linked accounts may differ in address.")
    allow_unlinking_all: bool = setting(False, "Whether the last account may be unlinked.")
