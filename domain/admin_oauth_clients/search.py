"""Search OAuth clients, and list and end the grants of users, for administrators of the service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, func, literal, or_, select
from sqlmodel import col

from domain.admin import permissions, targets
from domain.admin.errors import SearchTooBroad
from domain.admin.policy import AdminPolicy
from domain.admin_oauth_clients import grants
from domain.context import Context
from domain.errors import Forbidden
from domain.keyset import Ends, Position, place
from domain.oauth_clients import clients
from domain.oauth_clients.errors import ClientNotFound, ClientOrUserRequired
from domain.ports import Rows, SearchTimedOut
from models.oauth_client import CLIENT_COLUMNS, ClientRow, OauthClient
from models.oauth_consent import CONSENTS_WITH_CLIENTS
from models.oauth_grant import LIST_GRANTS, ListedGrant, OauthGrant, live
from models.statements import table_of

_COUNTED_WITHIN = timedelta(milliseconds=150)
_NUMBERS = select(func.count(), func.count(col(OauthClient.disabled_at))).select_from(table_of(OauthClient))
"""How many clients there are, and how many of them are disabled."""


@dataclass(frozen=True, slots=True)
class ClientSearch:
    """The clients to find; every condition has to match."""

    text: str = ""
    """A part of the name, the beginning of the host of a URL, or a client id."""
    source: str | None = None
    is_disabled: bool | None = None

    @property
    def conditions(self) -> Sequence[ColumnElement[bool]]:
        """The conditions as SQL."""
        found: list[ColumnElement[bool]] = []
        if self.text:
            lowered = self.text.lower()
            name, members = func.lower(OauthClient.client_name), func.lower(OauthClient.registration)
            found.append(
                or_(
                    name.contains(lowered, autoescape=True),
                    members.contains(f"://{lowered}", autoescape=True),
                    col(OauthClient.client_id) == self.text,
                )
            )
        if self.source is not None:
            found.append(col(OauthClient.source) == self.source)
        if self.is_disabled is not None:
            disabled_at = col(OauthClient.disabled_at)
            found.append(disabled_at.is_not(None) if self.is_disabled else disabled_at.is_(None))
        return found


@dataclass(frozen=True, slots=True)
class FoundClients:
    """A page of clients, and how many match, at most `admin.count_limit`; `is_capped` says that there are more."""

    rows: Sequence[ClientRow]
    ends: Ends
    total: int
    is_capped: bool
    grants: Mapping[str, int] | None
    """The number of live grants by client id, at most `admin.count_limit` each; None if counting took too long."""


class Connection(NamedTuple):
    """A client to which a user has consented, or that holds live grants of the user."""

    client: ClientRow
    scopes: Sequence[str]
    resources: Sequence[str]
    consented_at: datetime | None
    granted_at: datetime | None
    """When the newest of its grants was given."""
    grants: int


def require(ctx: Context, *, fresh: bool = False) -> None:
    """Check that the caller may manage clients. Raises Forbidden, TwoFactorRequired, SessionNotFresh."""
    permissions.require(ctx, "service", "manage", Forbidden, fresh=fresh)  # defence: O14 administrators


async def list_clients(
    ctx: Context,
    wanted: ClientSearch,
    *,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> FoundClients:
    """Return a page of clients, newest first: those older than `before`, or those newer than `after`.

    Raises Forbidden, TwoFactorRequired, SearchTooBroad.
    """
    require(ctx)
    where, most = place(before=before, after=after), ctx.policy[AdminPolicy].count_limit
    time, id_ = col(OauthClient.created_at), col(OauthClient.client_id)
    conditions = wanted.conditions
    page = (
        select(*CLIENT_COLUMNS)
        .where(*conditions, *where.conditions(time, id_))
        .order_by(*where.order(time, id_))
        .limit(limit + 1)
        .execution_options(row=ClientRow)
    )
    some = select(literal(1).label("one")).select_from(OauthClient).where(*conditions).limit(most + 1)
    found, counted = await _search(
        ctx, page, select(func.count()).select_from(some.subquery()), is_scan=bool(conditions)
    )
    rows, ends = where.page(found, limit, _position)
    total = int(counted.scalar())
    numbers = await count_grants(ctx, [row.client_id for row in rows])
    return FoundClients(rows, ends, min(total, most), total > most, numbers)


async def count_clients(ctx: Context) -> tuple[int, int] | None:
    """Return the number of clients, and of those that are disabled; None if counting takes too long.

    Raises Forbidden, TwoFactorRequired.
    """
    require(ctx)
    try:
        [counted] = await ctx.resources.database.search([_NUMBERS], _COUNTED_WITHIN, is_scan=False)
    except SearchTimedOut:
        return None
    total, disabled = counted.first() or (0, 0)
    return int(total), int(disabled)


async def count_grants(ctx: Context, client_ids: Sequence[str]) -> Mapping[str, int] | None:
    """Return how many live grants each of these clients holds, at most `admin.count_limit`.

    None if counting takes too long. Raises Forbidden, TwoFactorRequired.
    """
    require(ctx)
    if not client_ids:
        return {}
    # Counted only up to a limit, because a client that all users use has a grant of every user.
    some = (
        select(literal(1).label("one"))
        .select_from(OauthGrant)
        .where(col(OauthGrant.client_id) == col(OauthClient.client_id), *live(ctx.now))
        .limit(ctx.policy[AdminPolicy].count_limit)
        .correlate(OauthClient)
        .subquery()
    )
    number = select(func.count()).select_from(some).correlate(OauthClient).scalar_subquery()
    statement = select(col(OauthClient.client_id), number).where(
        col(OauthClient.client_id).in_(sorted(client_ids))
    )
    try:
        [rows] = await ctx.resources.database.search([statement], _COUNTED_WITHIN, is_scan=False)
    except SearchTimedOut:
        return None
    return {client_id: int(count) for client_id, count in rows}


async def list_grants(
    ctx: Context, *, client_id: str | None, user_id: str | None, after: Position | None, limit: int
) -> tuple[Sequence[ListedGrant], Ends]:
    """Return a page of the live grants of a client, of a user, or of a user to a client, newest first.

    Raises ClientOrUserRequired if both ids are None, Forbidden, TwoFactorRequired, ClientNotFound, UserNotFound,
    SearchTooBroad.
    """
    _require_one(client_id, user_id)
    conditions: list[ColumnElement[bool]] = [*live(ctx.now)]
    if user_id is not None:
        await _require_user(ctx, user_id)
        conditions.append(col(OauthGrant.user_id) == user_id)
    else:
        require(ctx)
    if client_id is not None:
        if await clients.read(ctx, client_id) is None:
            raise ClientNotFound
        conditions.append(col(OauthGrant.client_id) == client_id)
    where, (time, id_) = place(before=after), (col(OauthGrant.created_at), col(OauthGrant.id))
    statement = (
        LIST_GRANTS.where(*conditions, *where.conditions(time, id_))
        .order_by(*where.order(time, id_))
        .limit(limit + 1)
    )
    [found] = await _search(ctx, statement, is_scan=False)
    return where.page(found, limit, lambda row: Position(row.created_at, row.id))


async def list_connections(ctx: Context, user_id: str) -> Sequence[Connection]:
    """Return the clients to which a user has consented or given grants, in the order of their names.

    Raises Forbidden, TwoFactorRequired, UserNotFound.
    """
    await _require_user(ctx, user_id)
    consents = {row.client_id: row for row in await ctx.reads.all(CONSENTS_WITH_CLIENTS, user_id)}
    held: dict[str, list[Any]] = {}
    for grant in await grants.list_of_user(ctx, user_id):
        held.setdefault(grant.client_id, []).append(grant)
    found = []
    for client_id in consents.keys() | held.keys():
        client = await clients.read(ctx, client_id)
        if client is None:
            continue
        consent, own = consents.get(client_id), held.get(client_id, [])
        sources = [*([] if consent is None else [consent]), *own]
        found.append(
            Connection(
                client,
                list(dict.fromkeys(scope for one in sources for scope in one.scopes.split())),
                list(dict.fromkeys(uri for one in sources for uri in one.resources.split())),
                None if consent is None else consent.created_at,
                own[0].created_at if own else None,
                len(own),
            )
        )
    return sorted(found, key=lambda one: (one.client.client_name.casefold(), one.client.client_id))


async def end_grants(
    ctx: Context, *, client_id: str | None, user_id: str | None, with_consents: bool = False
) -> int:
    """End the grants of a client, of a user, or of a user to a client; return their number.

    `with_consents` also deletes the consents. Raises ClientOrUserRequired if both ids are None, Forbidden,
    TwoFactorRequired, SessionNotFresh, ClientNotFound, UserNotFound.
    """
    _require_one(client_id, user_id)
    if user_id is None:
        require(ctx, fresh=True)
        return await grants.revoke_of_client(ctx, client_id or "", with_consents=with_consents)
    permissions.require(ctx, "session", "revoke", Forbidden)  # defence: O14 end-grants
    user = await targets.locked(ctx, user_id, Forbidden)  # defence: O14 end-grants-rank
    if client_id is None:
        return await grants.revoke_of_user(ctx, user.id, with_consents=with_consents)
    return await grants.revoke_of_both(ctx, user.id, client_id, with_consents=with_consents)


async def _require_user(ctx: Context, user_id: str) -> None:
    """Check that the caller may see what a user has granted. Raises Forbidden, TwoFactorRequired, UserNotFound."""
    permissions.require(ctx, "session", "list", Forbidden)  # defence: O14 list-grants
    permissions.check_rank(ctx, await targets.existing(ctx, user_id), Forbidden)


def _require_one(client_id: str | None, user_id: str | None) -> None:
    if client_id is None and user_id is None:
        raise ClientOrUserRequired


def _position(row: ClientRow) -> Position:
    return Position(row.created_at, row.client_id)


async def _search(ctx: Context, *statements: Executable, is_scan: bool) -> Sequence[Rows]:
    """Return the rows of statements that take at most `admin.scan_timeout`. Raises SearchTooBroad."""
    try:
        return await ctx.resources.database.search(
            statements, ctx.policy[AdminPolicy].scan_timeout, is_scan=is_scan
        )
    except SearchTimedOut:
        raise SearchTooBroad from None
