"""The caller of a request, and what an application requires of callers."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ..models import CurrentSession
from ..types import Unset
from .errors import Forbidden

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Caller:
    """A signed-in user, from a session or from a token.

    A token has only the claims of `jwt.claims`: without them, the fields are None, empty or False. `organization_roles`
    of a session are filled only if they were required.
    """

    user_id: str
    signed_in_at: datetime
    name: str | None = None
    email: str | None = None
    email_verified: bool = False
    roles: Set[str] = NONE
    organization_id: str | None = None
    organization_roles: Set[str] = NONE
    impersonated_by: str | None = None
    session: CurrentSession | None = None
    """The session of the request, None with a token."""
    claims: Mapping[str, Any] | None = None
    """The claims of the token, None with a session."""
    cookies: tuple[str, ...] = ()
    """`Set-Cookie` headers that the application passes on to the browser."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a caller must have: one of the roles, one of the roles in the active organization, and so on."""

    roles: Set[str] = NONE
    organization: bool = False
    """Whether the caller must be in an organization, with any role."""
    organization_roles: Set[str] = NONE
    max_age: timedelta | None = None
    """How long ago the user may have signed in at most."""
    verified_email: bool = False

    @property
    def in_organization(self) -> bool:
        """Return whether the active organization matters, and with it the roles there."""
        return self.organization or bool(self.organization_roles)

    def check(self, caller: Caller, now: datetime | None = None) -> None:
        """Raise Forbidden if the caller lacks something. `now` is by default the current time."""
        if self.roles and self.roles.isdisjoint(caller.roles):
            raise Forbidden("ROLE_REQUIRED", "You do not have the required role")
        if self.in_organization and caller.organization_id is None:
            raise Forbidden("NO_ACTIVE_ORGANIZATION", "Choose an organization first")
        if self.organization_roles and self.organization_roles.isdisjoint(caller.organization_roles):
            raise Forbidden(
                "ORGANIZATION_ROLE_REQUIRED", "You do not have the required role in this organization"
            )
        if self.verified_email and not caller.email_verified:
            raise Forbidden("EMAIL_NOT_VERIFIED", "Please verify your email address first")
        if self.max_age is not None and (now or datetime.now(UTC)) - caller.signed_in_at > self.max_age:
            raise Forbidden("SESSION_NOT_FRESH", "Please sign in again first")


def caller_of_session(current: CurrentSession, cookies: tuple[str, ...]) -> Caller:
    """Return the caller of a session."""
    session, user = current.session, current.user
    return Caller(
        user_id=user.id,
        signed_in_at=session.created_at,
        name=user.name,
        email=user.email,
        email_verified=user.email_verified,
        roles=roles_of(user.role),
        organization_id=_or_none(session.active_organization_id),
        impersonated_by=_or_none(session.impersonated_by),
        session=current,
        cookies=cookies,
    )


def caller_of_token(claims: Mapping[str, Any]) -> Caller:
    """Return the caller of verified claims. Raises ValueError or TypeError for claims of another form."""
    actor = claims.get("act")
    return Caller(
        user_id=str(claims["sub"]),
        signed_in_at=datetime.fromtimestamp(int(claims.get("auth_time", 0)), UTC),
        name=claims.get("name"),
        email=claims.get("email"),
        email_verified=claims.get("emailVerified") is True,
        roles=roles_of(claims.get("role") or ""),
        organization_id=claims.get("activeOrganizationId"),
        organization_roles=roles_of(claims.get("organizationRole") or ""),
        impersonated_by=actor.get("sub") if isinstance(actor, Mapping) else None,
        claims=claims,
    )


def roles_of(text: str) -> frozenset[str]:
    """Return the roles in a text such as `support,editor`."""
    return frozenset(role for role in text.split(",") if role)


def _or_none(value: str | Unset) -> str | None:
    return None if isinstance(value, Unset) else value
