"""Signed tokens that identify the caller to other services (RFC 7519)."""

from typing import Any

from domain import tokens
from domain.authentication_methods import amr_of
from domain.context import Caller, Context
from domain.jwt.errors import AudienceNotAllowed
from domain.jwt.policy import JwtPolicy
from domain.jwt.signing_keys import SigningKeys
from domain.organizations.policy import OrganizationPolicy, TeamPolicy
from models.base import to_milliseconds
from models.member import ACTIVE_MEMBERSHIP
from models.session import SessionRow
from models.user import UserRow

CLAIMS = {
    "email": "email",
    "emailVerified": "email_verified",
    "name": "name",
    "image": "image",
    "username": "username",
    "role": "role",
    "id": "id",
}
"""The claims about the user that a token may have, each with the column of its value."""

ORGANIZATION_CLAIMS = {"activeOrganizationId": "organization_id", "organizationRole": "role"}
"""The claims about the active organization, each with the field of `ActiveMembership` that has its value."""

TEAM_CLAIMS = {"activeTeamId": "team_id"}
"""The claims about the active team, each with the field of `ActiveMembership` that has its value."""


async def issue(ctx: Context, audience: str | None = None) -> str:
    """Return a signed token about the caller for `audience`, by default the first of `jwt.audiences`.

    Raises AudienceNotAllowed for an audience that is not configured, and Unavailable if no key can sign.
    """
    policy = ctx.policy[JwtPolicy]
    if audience is not None and audience not in policy.audiences:  # defence: JWT5 audience
        raise AudienceNotAllowed
    claims = claims_of(ctx, ctx.signed_in, policy.audiences[0] if audience is None else audience)
    claims |= await _organization(ctx, ctx.signed_in.session)
    return await ctx.port[SigningKeys].sign(claims, ctx.now)


def claims_of(ctx: Context, caller: Caller, audience: str) -> dict[str, Any]:
    """Return the claims of a session token. There is no `nbf`, because clocks of services differ."""
    policy, session = ctx.policy[JwtPolicy], caller.session
    # Other services do not see the session, so the token must end with it.
    expires_at = min(ctx.now + policy.expires_in, session.expires_at)  # defence: JWT7 session-end
    claims: dict[str, Any] = {  # defence: JWT13 no-nbf
        "iss": policy.issuer,
        "sub": session.user_id,
        "aud": audience,
        "iat": to_milliseconds(ctx.now) // 1000,
        "exp": to_milliseconds(expires_at) // 1000,
        "jti": tokens.token(),
        "sid": session.id,
        "auth_time": to_milliseconds(session.created_at) // 1000,
    }
    # Sessions created by an earlier version have a method but no `amr`.
    if proved := session.amr or amr_of(session.method):
        claims["amr"] = proved.split()
    if session.impersonated_by is not None:
        # The claim of RFC 8693, 4.1: services can see that an administrator acts for the user.
        claims["act"] = {"sub": session.impersonated_by}  # defence: JWT16 actor
    return {**claims, **_fields(caller.user, policy)}  # defence: JWT15 fields


def _fields(user: UserRow, policy: JwtPolicy) -> dict[str, Any]:
    """Return the configured fields of the user that are set."""
    values = {name: getattr(user, CLAIMS[name]) for name in policy.claims if name in CLAIMS}
    return {name: value for name, value in values.items() if value is not None}


async def _organization(ctx: Context, session: SessionRow) -> dict[str, Any]:
    """Return the configured claims about the active organization and team, none without an active organization."""
    known = ORGANIZATION_CLAIMS if ctx.policy[OrganizationPolicy].enabled else {}
    if ctx.policy[TeamPolicy].enabled:
        known = known | TEAM_CLAIMS
    fields = {name: known[name] for name in ctx.policy[JwtPolicy].claims if name in known}
    if not fields or session.active_organization_id is None:
        return {}
    # All of them from one read: with the organization of an earlier one, a role of another could be signed.
    found = await ctx.reads.one(ACTIVE_MEMBERSHIP, session.id)
    values = {name: getattr(found, field, None) for name, field in fields.items()}
    return {name: value for name, value in values.items() if value is not None}
