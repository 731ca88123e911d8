"""Manage a directory: its tokens, its state, and the confirmation that resumes a stopped one."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from domain import tokens, urls
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.scim import directories, events, failures
from domain.scim.errors import DirectoryNotStopped, ScimTokenNotFound, TooManyScimTokens
from domain.sso_connections import access
from domain.sso_connections.errors import SsoProviderNotFound
from models.scim_failure import ScimFailureRow
from models.scim_link import COUNT_ACTIVE
from models.scim_token import ADD_TOKEN, REMOVE_TOKEN, TOKENS_OF_CONNECTION, ScimTokenRow
from models.sso_connection import FIND_CONNECTION, LOCK_CONNECTION, ConnectionRow

MOST_TOKENS = 10
"""The most tokens of one connection."""


async def managed(ctx: Context, provider_id: str, *, change: bool = False) -> ConnectionRow:
    """Return a connection that the caller may manage; with `change` its row is locked.

    Raises SsoProviderNotFound, SessionNotFresh.
    """
    statement = LOCK_CONNECTION if change else FIND_CONNECTION
    row: ConnectionRow | None = (await ctx.db.execute(statement, provider_id=provider_id)).first()
    connection, _ = await access.require(ctx, row, change=change)  # defence: SSO12 managers
    return connection


async def locked(ctx: Context, provider_id: str) -> ConnectionRow:
    """Lock and return a connection without checking permissions, for the operator. Raises SsoProviderNotFound."""
    row: ConnectionRow | None = (await ctx.db.execute(LOCK_CONNECTION, provider_id=provider_id)).first()
    if row is None:
        raise SsoProviderNotFound
    return row


async def create_token(
    ctx: Context,
    connection: ConnectionRow,
    name: str,
    expires_in: timedelta | None = None,
    *,
    by_operator: bool = False,
    is_new_name: bool = False,
) -> tuple[ScimTokenRow, str]:
    """Create a token of a locked connection; return its row and the token, which is stored only as a digest.

    Without `expires_in` the token does not expire. With `is_new_name` the name must differ from those of the other
    tokens, so that a form that is sent twice creates one token. Raises TooManyScimTokens, ValidationError.
    """
    known = await list_tokens(ctx, connection)
    if is_new_name and any(one.name == name for one in known):
        problem = "must not be the name of another token"
        raise ValidationError(f"[body.tokenName] {problem}", Field("body", "tokenName", problem))
    if len(known) >= MOST_TOKENS:
        raise TooManyScimTokens
    text = directories.PREFIX + tokens.token()
    row = ScimTokenRow(
        id=tokens.token(),
        connection_id=connection.id,
        name=name,
        created_by=None if ctx.caller is None else ctx.caller.user.id,
        last_used_at=None,
        expires_at=None if expires_in is None else ctx.now + expires_in,
        created_at=ctx.now,
    )
    await ctx.db.execute(ADD_TOKEN, **row._asdict(), token=tokens.digest(text), updated_at=ctx.now)
    events.token_created(ctx, connection.id, row.id, by_operator=by_operator)
    return row, text


async def list_tokens(ctx: Context, connection: ConnectionRow) -> Sequence[ScimTokenRow]:
    """Return the tokens of a connection, the oldest first."""
    rows: Sequence[ScimTokenRow] = await ctx.db.execute(TOKENS_OF_CONNECTION, connection_id=connection.id)
    return rows


async def revoke_token(
    ctx: Context, connection: ConnectionRow, token_id: str, *, by_operator: bool = False
) -> None:
    """Revoke a token of a connection. Raises ScimTokenNotFound."""
    if not await ctx.db.execute(REMOVE_TOKEN, token_id=token_id, connection_id=connection.id):
        raise ScimTokenNotFound
    events.token_revoked(ctx, connection.id, token_id, by_operator=by_operator)


class DirectoryState(NamedTuple):
    """The state of a directory, for those who manage it."""

    url: str
    active_users: int
    stopped_at: datetime | None
    failures: Sequence[ScimFailureRow]
    """The last refused requests of the directory, the newest first."""


async def state_of(ctx: Context, connection: ConnectionRow) -> DirectoryState:
    """Return the state of the directory of a connection."""
    state = await directories.state_of(ctx, connection.id)
    active = (await ctx.db.execute(COUNT_ACTIVE, connection_id=connection.id)).scalar()
    return DirectoryState(
        url=urls.public_url(ctx.policy, "/scim/v2"),
        active_users=int(active),
        stopped_at=None if state is None else state.stopped_at,
        failures=await failures.list_failures(ctx, connection.id),
    )


async def confirm(ctx: Context, connection: ConnectionRow) -> None:
    """Resume a stopped directory. Raises DirectoryNotStopped."""
    if not await directories.resume(ctx, connection.id):
        raise DirectoryNotStopped
    events.confirmed(ctx, connection.id)
