"""Policy for organizations, from the operator's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from domain.rate_limits.policy import Quota
from domain.users.policy import Permission

ID = "{id}"
"""The placeholder of the secret in the URL of invitations."""


@dataclass(frozen=True, slots=True)
class OrganizationPolicy:
    """Who creates organizations, their limits, and what the roles of members allow."""

    enabled: bool
    creation: Literal["everyone", "admins"]
    deletion: bool
    limit_per_user: int
    membership_limit: int
    invitation_limit: int
    invitation_expires_in: timedelta
    invitation_url: str
    """The link of invitations, with the placeholder `{id}`."""
    invitation_mails: Quota
    """The emails that the invitations of one user may cause."""
    cancel_pending_on_reinvite: bool
    require_verified_email: bool
    """Whether only a verified address answers an invitation without its link; email verification is enabled."""
    verifies_email: bool
    """Whether email verification is enabled."""
    member_directory: Literal["members", "managers"]
    roles: Mapping[str, frozenset[Permission]]
    """The permissions of each role, `owner`, `admin` and `member` among them."""


@dataclass(frozen=True, slots=True)
class TeamPolicy:
    """Whether organizations have teams, and their limits."""

    enabled: bool
    default_team: bool
    """Whether an organization begins with a team of its own name."""
    maximum: int
    maximum_members: int
    allow_removing_all: bool
