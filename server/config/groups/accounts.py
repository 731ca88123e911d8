"""The settings of linked accounts."""

from typing import Annotated

from pydantic import Field

from domain.accounts.policy import AccountPolicy
from domain.social.policy import LinkingPolicy
from server.config.base import Group
from server.config.value_types import Items


class AccountLinkingSettings(Group):
    """`account_linking.*`: one user, several ways to sign in."""

    key = "account_linking"

    fills = (LinkingPolicy, AccountPolicy)

    enabled: bool = Field(default=True, description="Whether provider accounts can be linked to users.")
    implicit: bool = Field(
        default=True, description="Whether sign-in links an account with the same address."
    )
    require_local_verified: bool = Field(
        default=True, description="Whether implicit linking needs the user's own address verified."
    )
    trusted_providers: Annotated[tuple[str, ...], Items] = Field(
        default=(),
        description="Providers whose email addresses count as verified even if they do not say so.",
    )
    allow_different_emails: bool = Field(
        default=False, description="Whether linked accounts may differ in address."
    )
    allow_unlinking_all: bool = Field(default=False, description="Whether the last account may be unlinked.")
