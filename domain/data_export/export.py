"""Export all data of one user (GDPR, article 15), or all users for import into another Gatewright.

The export of one user has every column under its JSON name, but says of a credential only whether it is set. Columns of
bytes always hold credentials: digests, keys, or encrypted values. The export of all users contains password hashes,
authenticator secrets and passkeys.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, Select, and_, func, or_, select
from sqlmodel import SQLModel, col

from domain.audit.record import hints as audit_hints
from domain.context import Context
from domain.organizations.policy import OrganizationPolicy
from domain.passkeys import client_data
from domain.two_factor import enrolment
from domain.two_factor.errors import UndecipherableSecret
from domain.users import lookup
from models import CREDENTIAL, Account, Audit, TwoFactor, User
from models.base import tables
from models.invitation import Invitation, InvitationStatus
from models.organization import Organization
from models.passkey import Passkey
from models.statements import table_of
from models.team import Team
from models.user import UserRow

PAGE = 200
"""The number of users read at once."""

SECTIONS: Mapping[str, type[Any]] = {
    table.__export__: table for table in tables() if hasattr(table, "__export__")
}
"""The tables with a `user_id` or an `owner_id`, under the name that each declares for the export."""

SECRET = frozenset({"password", "code_challenge"})
"""Text columns that hold credentials, parts of them or their digests."""

_IS_PENDING = col(Invitation.status) == InvitationStatus.PENDING.value
_OF_ACTOR = ("actorId", "sessionId", "address", "userAgent", "requestId")
"""The JSON names of the members of an audit record that describe the actor."""

Held = dict[str, Any]


async def export_user(ctx: Context, identifier: str) -> Held:
    """Return all stored data about the user with this id, email or username. Raises NotFound."""
    user = await lookup.find(ctx, identifier)
    held: Held = {"user": _shown(User, user)}
    for name, table in SECTIONS.items():
        rows = await ctx.db.execute(_all_of(table).where(_belongs_to(table, user.id)))
        held[name] = [_shown(table, row) for row in _sorted(rows)]
    held |= await _organizations(ctx, user, held)
    records = _all_of(Audit).where(_concerns(ctx, user)).order_by(col(Audit.time), col(Audit.id))
    held["audit"] = [_shown(Audit, record) for record in await ctx.db.execute(records)]
    return held


async def _organizations(ctx: Context, user: UserRow, held: Held) -> Held:
    """Return the memberships and invitations of a user, with the names of organizations and teams."""
    # A user who has not proven the address must not read what was sent to it.
    # defence: ORG2 export
    is_proven = user.email_verified or not ctx.policy[OrganizationPolicy].verifies_email
    received = and_(col(Invitation.email) == user.email, _IS_PENDING, col(Invitation.expires_at) > ctx.now)
    sections = {
        "organizationMemberships": held["organizationMemberships"],
        "teamMemberships": held["teamMemberships"],
        "invitationsSent": await _invitations(ctx, col(Invitation.inviter_id) == user.id),
        "invitationsReceived": await _invitations(ctx, received) if is_proven else [],
    }
    rows = [row for section in sections.values() for row in section]
    teams = await _by_id(ctx, Team, {row.get("teamId") for row in rows})
    for row in rows:
        if (team := teams.get(row.get("teamId"))) is not None:
            row.update(teamName=team.name, organizationId=team.organization_id)
    organizations = await _by_id(ctx, Organization, {row.get("organizationId") for row in rows})
    for row in rows:
        organization = organizations.get(row.get("organizationId"))
        row["organizationName"] = None if organization is None else organization.name
    return sections


async def _invitations(ctx: Context, condition: ColumnElement[bool]) -> list[Held]:
    rows = await ctx.db.execute(_all_of(Invitation).where(condition))
    return [_shown(Invitation, row) for row in _sorted(rows)]


async def _by_id(ctx: Context, table: type[Any], ids: set[Any]) -> Mapping[Any, Any]:
    wanted = sorted(ids - {None})
    return {row.id: row for row in await ctx.db.execute(_all_of(table).where(table.id.in_(wanted)))}


async def export_own(ctx: Context) -> Held:
    """Return all stored data about the caller, in the same form as `export_for`."""
    return await export_for(ctx, ctx.signed_in.user.id)


async def export_for(ctx: Context, user_id: str) -> Held:
    """Return all stored data about a user, as the user may read it. Raises NotFound.

    Records of actions by other users omit the actor and their network address: an administrator's network address is
    not the user's data.
    """
    held = await export_user(ctx, user_id)
    for record in held["audit"]:
        if record["actorId"] not in (None, user_id):  # defence: H13 other-actors
            record.update(dict.fromkeys(_OF_ACTOR))
    for session in held["sessions"]:
        if session["impersonatedBy"] is not None:
            session.update(dict.fromkeys(("impersonatedBy", "ipAddress", "userAgent")))
    return held


async def count_own(ctx: Context) -> Mapping[str, int]:
    """Return how many rows of each section of the export belong to the caller."""
    counts = {}
    for name, table in SECTIONS.items():
        number = select(func.count()).select_from(table).where(_belongs_to(table, ctx.signed_in.user.id))
        counts[name] = int((await ctx.db.execute(number)).scalar())
    return counts


def _belongs_to(table: type[Any], user_id: str) -> ColumnElement[bool]:
    owner = table.owner_id if "owner_id" in table_of(table).columns else table.user_id
    return col(owner) == user_id


def _concerns(ctx: Context, user: UserRow) -> ColumnElement[bool]:
    """Return the condition that a record is about a user, or about their identifier before the account existed."""
    hints = {hint for name in (user.email, user.username) if name for hint in audit_hints(ctx, name)}
    return or_(col(Audit.user_id) == user.id, col(Audit.actor_id) == user.id, col(Audit.hint).in_(hints))


def _sorted(rows: Sequence[Any]) -> list[Any]:
    # Known networks have no time of creation.
    return sorted(rows, key=lambda row: getattr(row, "created_at", None) or row.last_success)


def _all_of(table: type[SQLModel]) -> Select[Any]:
    return select(*table_of(table).columns)


def _shown(table: type[SQLModel], row: Any) -> Held:
    """Return the columns of a row by their JSON names; for a secret, only whether it is set."""
    shown: Held = {}
    for column in table_of(table).columns:
        value = getattr(row, column.name)
        is_secret = column.name in SECRET or isinstance(column.type, LargeBinary)
        shown[_camel(column.name)] = value is not None if is_secret else value
    return shown


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


async def export_all(ctx: Context, after: str) -> list[Held]:
    """Return the next `PAGE` users in the import format, in the order of their ids, beginning after the id `after`.

    The result contains password hashes and the secrets of authenticators, and so allows signing in as any of these
    users. Raises UndecipherableSecret for a secret whose encryption key is no longer configured.
    """
    page = _all_of(User).where(col(User.id) > after).order_by(col(User.id)).limit(PAGE)
    users = await ctx.db.execute(page)
    ids = [user.id for user in users]
    accounts = await _by_user(ctx, Account, ids)
    factors = await _by_user(ctx, TwoFactor, ids)
    passkeys = await _by_user(ctx, Passkey, ids)
    return [
        {
            **_moving(ctx, user, accounts.get(user.id, []), factors.get(user.id, [None])[0]),
            **({"passkeys": [_passkey(row) for row in passkeys[user.id]]} if user.id in passkeys else {}),
        }
        for user in users
    ]


async def _by_user(ctx: Context, table: type[Any], ids: Sequence[str]) -> dict[str, list[Any]]:
    by_user: dict[str, list[Any]] = {}
    for row in await ctx.db.execute(_all_of(table).where(table.user_id.in_(ids))):
        by_user.setdefault(row.user_id, []).append(row)
    return by_user


def _moving(ctx: Context, user: UserRow, accounts: Sequence[Account], factor: TwoFactor | None) -> Held:
    passwords = [account.password for account in accounts if account.provider_id == CREDENTIAL]
    moving = {
        "id": user.id,
        "email": user.email,
        "emailVerified": user.email_verified,
        "name": user.name,
        "image": user.image,
        "username": user.username,
        "displayUsername": user.display_username,
        "role": user.role,
        "banned": user.banned,
        "banReason": user.ban_reason,
        "banExpires": user.ban_expires,
        "locale": user.locale,
        "createdAt": user.created_at,
        "updatedAt": user.updated_at,
        "passwordHash": passwords[0] if passwords else None,
        "twoFactor": _second_factor(ctx, factor) if user.two_factor_enabled else None,
        "accounts": [_identity(account) for account in accounts if account.provider_id != CREDENTIAL],
    }
    return {name: value for name, value in moving.items() if value not in (None, [])}


def _second_factor(ctx: Context, factor: TwoFactor | None) -> Held:
    """Return the active authenticator secret; None for a user with email codes."""
    if factor is None or factor.secret is None or not factor.confirmed:
        return {"secret": None}
    secret = ctx.cipher.decrypt(enrolment.SECRET, factor.secret)
    if secret is None:
        raise UndecipherableSecret
    return {"secret": secret, "issuer": factor.issuer}


def _passkey(row: Passkey) -> Held:
    moving = {
        "name": row.name,
        "credentialID": client_data.encode(row.credential_id),
        "publicKey": base64.b64encode(row.public_key).decode(),
        "counter": row.counter,
        "deviceType": row.device_type,
        "backedUp": row.backed_up,
        "transports": row.transports,
        "aaguid": row.aaguid,
        "rpId": row.rp_id,
        "userHandle": row.user_handle and client_data.encode(row.user_handle),
        "lastUsedAt": row.last_used_at,
        "createdAt": row.created_at,
    }
    return {name: value for name, value in moving.items() if value is not None}


def _identity(account: Account) -> Held:
    return {
        "providerId": account.provider_id,
        "issuer": account.issuer,
        "accountId": account.account_id,
        "scopes": (account.scope or "").split(),
        "createdAt": account.created_at,
    }
