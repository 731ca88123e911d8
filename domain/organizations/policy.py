"""Policy for organizations, from the operator's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from domain.rate_limits.policy import Quota
from domain.users.policy import Permission

ID = "{id}"
"""The placeholder for the secret in `invitation_url`."""


@dataclass(frozen=True, slots=True)
class OrganizationPolicy:
    """Who may create organizations, their limits, and what the roles of members allow."""

    enabled: bool
    creation: Literal["everyone", "admins"]
    deletion: bool
    limit_per_user: int
    membership_limit: int
    invitation_limit: int
    invitation_expires_in: timedelta
    invitation_url: str
    """The URL in the emails of invitations, with the placeholder `{id}` for the secret."""
    invitation_mails: Quota
    """How many emails the invitations by one user may cause."""
    cancel_pending_on_reinvite: bool
    require_verified_email: bool
    """Whether users need a verified address to answer an invitation without its emailed link."""
    verifies_email: bool
    """Whether email verification is enabled."""
    member_directory: Literal["members", "managers"]
    roles: Mapping[str, frozenset[Permission]]
    """The permissions of each role, including the built-in roles `owner`, `admin` and `member`."""


@dataclass(frozen=True, slots=True)
class TeamPolicy:
    """Whether organizations have teams, and their limits."""

    enabled: bool
    default_team: bool
    """Whether a new organization gets a team with the organization's name."""
    maximum: int
    maximum_members: int
    allow_removing_all: bool
