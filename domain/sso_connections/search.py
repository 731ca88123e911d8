"""Search connections, for administrators of the service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, exists, func, literal, or_, select
from sqlmodel import col

from domain.admin import permissions
from domain.admin.errors import SearchTooBroad
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.errors import Forbidden
from domain.keyset import Ends, Position, place
from domain.ports import SearchTimedOut
from domain.sso_connections import domains
from domain.sso_connections.domains import Connection
from models.organization import FIND_ORGANIZATION, Organization, OrganizationRow
from models.sso_connection import CONNECTION_COLUMNS, ConnectionRow, ConnectionState, SsoConnection
from models.sso_domain import SsoDomain
from models.statements import table_of

_COUNTED_WITHIN = timedelta(milliseconds=150)
_NUMBERS = select(
    func.count(), func.count().filter(col(SsoConnection.state) == ConnectionState.PAUSED.value)
).select_from(table_of(SsoConnection))
"""How many connections there are, and how many of them are paused."""
_MISSING = select(func.count(func.distinct(col(SsoDomain.connection_id)))).where(
    col(SsoDomain.missed_at).is_not(None)
)
"""How many connections have a domain whose record was not found."""
_ORGANIZATION = col(Organization.id) == col(SsoConnection.organization_id)


@dataclass(frozen=True, slots=True)
class ConnectionSearch:
    """The connections to find; every condition has to match."""

    text: str = ""
    """A part of the name, `providerId`, a domain or the organization's name; or the whole slug of the organization."""
    type: str | None = None
    state: str | None = None
    is_of_service: bool | None = None
    """Whether the connections are for the whole service; None for all."""
    is_missing_record: bool = False
    """Whether to find only connections with a verified domain whose record is missing."""

    @property
    def conditions(self) -> Sequence[ColumnElement[bool]]:
        """The conditions as SQL."""
        found: list[ColumnElement[bool]] = []
        if self.text:
            found.append(_contains(self.text.lower()))
        for name in ("type", "state"):
            if getattr(self, name) is not None:
                found.append(col(getattr(SsoConnection, name)) == getattr(self, name))
        if self.is_of_service is not None:
            owner = col(SsoConnection.organization_id)
            found.append(owner.is_(None) if self.is_of_service else owner.is_not(None))
        if self.is_missing_record:
            found.append(_has_domain(col(SsoDomain.missed_at).is_not(None)))
        return found


def _contains(text: str) -> ColumnElement[bool]:
    parts = (func.lower(SsoConnection.name), col(SsoConnection.provider_id), func.lower(Organization.name))
    return or_(
        *(part.contains(text, autoescape=True) for part in parts),
        func.lower(Organization.slug) == text,
        _has_domain(col(SsoDomain.domain).contains(text, autoescape=True)),
    )


def _has_domain(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(col(SsoDomain.connection_id) == col(SsoConnection.id), condition)


class FoundConnections(NamedTuple):
    """A page of connections, and the number of all that match, at most `admin.count_limit` (then `is_capped`)."""

    connections: Sequence[Connection]
    organizations: Mapping[str, str]
    """The names of the organizations of these connections, by id."""
    ends: Ends
    total: int
    is_capped: bool


class ConnectionCounts(NamedTuple):
    """The number of all connections, of those that are paused, and of those with a domain whose record is missing."""

    total: int
    paused: int
    missing: int


def require(ctx: Context, *, fresh: bool = False) -> None:
    """Check that the caller may manage every connection. Raises Forbidden, TwoFactorRequired, SessionNotFresh."""
    permissions.require(ctx, "service", "manage", Forbidden, fresh=fresh)  # defence: SSO10 console


async def list_connections(
    ctx: Context,
    wanted: ConnectionSearch,
    *,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> FoundConnections:
    """Return a page of connections, newest first: the one after or before a position, by default the first.

    Raises Forbidden, TwoFactorRequired, and SearchTooBroad if the search takes too long.
    """
    require(ctx)
    where, most = place(before=before, after=after), ctx.policy[AdminPolicy].count_limit
    time, id_ = col(SsoConnection.created_at), col(SsoConnection.id)
    conditions = wanted.conditions
    page = (
        select(*CONNECTION_COLUMNS, col(Organization.name).label("organization_name"))
        .outerjoin(Organization, _ORGANIZATION)
        .where(*conditions, *where.conditions(time, id_))
        .order_by(*where.order(time, id_))
        .limit(limit + 1)
    )
    some = (
        select(literal(1).label("one"))
        .select_from(SsoConnection)
        .outerjoin(Organization, _ORGANIZATION)
        .where(*conditions)
        .limit(most + 1)
    )
    count = select(func.count()).select_from(some.subquery())
    try:
        found, counted = await ctx.resources.database.search(
            [page, count], ctx.policy[AdminPolicy].scan_timeout, is_scan=bool(conditions)
        )
    except SearchTimedOut:
        raise SearchTooBroad from None
    rows, ends = where.page(list(found), limit, lambda row: Position(row.created_at, row.id))
    names = {row.organization_id: row.organization_name for row in rows if row.organization_id is not None}
    shown = await domains.load_all(ctx, [ConnectionRow(*row[: len(ConnectionRow._fields)]) for row in rows])
    total = int(counted.scalar())
    return FoundConnections(shown, names, ends, min(total, most), total > most)


async def organization_of(ctx: Context, row: ConnectionRow) -> OrganizationRow | None:
    """Return the organization of a connection; None if it is for the whole service."""
    if row.organization_id is None:
        return None
    found: OrganizationRow | None = (
        await ctx.db.execute(FIND_ORGANIZATION, organization_id=row.organization_id)
    ).first()
    return found


async def count_connections(ctx: Context) -> ConnectionCounts | None:
    """Count connections; return None if that takes longer than 150 ms. Raises Forbidden, TwoFactorRequired."""
    require(ctx)
    try:
        counted, missed = await ctx.resources.database.search(
            [_NUMBERS, _MISSING], _COUNTED_WITHIN, is_scan=False
        )
    except SearchTimedOut:
        return None
    total, paused = counted.first() or (0, 0)
    return ConnectionCounts(int(total), int(paused), int(missed.scalar()))
