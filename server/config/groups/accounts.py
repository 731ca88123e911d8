"""The settings of linked accounts."""

from typing import Annotated

from domain.accounts.policy import AccountPolicy
from domain.social.policy import LinkingPolicy
from server.config.base import Group
from server.config.value_types import Items, setting


class AccountLinkingSettings(Group):
    """`account_linking.*`: linking accounts of providers to users."""

    key = "account_linking"

    fills = (LinkingPolicy, AccountPolicy)

    enabled: bool = setting(True, "Whether accounts of providers can be linked to existing users.")
    implicit: bool = setting(
        True,
        "Whether a sign-in through a provider links the account to the user who has the same email address.",
    )
    require_local_verified: bool = setting(
        True,
        "Whether linking at a sign-in (`implicit`) requires that the user has verified the email address "
        "here.",
    )
    trusted_providers: Annotated[tuple[str, ...], Items] = setting(
        (), "Ids of providers whose email addresses count as verified even if the provider does not say so."
    )
    allow_different_emails: bool = setting(
        False, "Whether a signed-in user may link an account with another email address."
    )
    allow_unlinking_all: bool = setting(False, "Whether a user may unlink the last account.")
