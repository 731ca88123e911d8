"""The last refused requests of a directory, for those who manage it, without the contents of the requests."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from domain import tokens
from domain.context import Context
from domain.errors import Refusal
from domain.scim.errors import ScimError
from models.scim_failure import ADD_FAILURE, FAILURES_OF_CONNECTION, REMOVE_FAILURE, ScimFailureRow
from models.sso_connection import LOCK_CONNECTION_BY_ID

MOST_FAILURES = 10
"""The number of refused requests of one directory that are kept, and the most that are stored within a minute."""

_INTERVAL = timedelta(minutes=1)


class Failure(NamedTuple):
    """A request that was refused, and why."""

    method: str
    resource: str
    """The endpoint, as in `Users`."""
    status: int
    scim_type: str | None
    message: str


def message_of(refusal: Refusal) -> str:
    """Return the message of a refusal; the general message of its class if its own may repeat a part of the request."""
    is_own = isinstance(refusal, ScimError) and not refusal.quotes_request
    return refusal.message if is_own else type(refusal).message  # defence: SSO12 stored-message


async def record(ctx: Context, connection_id: str, failure: Failure) -> None:
    """Store a failure and delete the oldest ones, so that MOST_FAILURES remain.

    Nothing is stored if the last minute has the same failure or MOST_FAILURES failures.
    """
    # Read without a lock first, so that a directory that always fails causes no writes and waits for no lock.
    if not _is_new(ctx, await list_failures(ctx, connection_id), failure):
        return
    if not await ctx.db.execute(LOCK_CONNECTION_BY_ID, connection_id=connection_id):
        return
    known = await list_failures(ctx, connection_id)
    if not _is_new(ctx, known, failure):
        return
    for row in known[MOST_FAILURES - 1 :]:
        await ctx.db.execute(REMOVE_FAILURE, failure_id=row.id)
    await ctx.db.execute(
        ADD_FAILURE,
        id=tokens.token(),
        connection_id=connection_id,
        **failure._asdict(),
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def list_failures(ctx: Context, connection_id: str) -> Sequence[ScimFailureRow]:
    """Return the last failures of the directory of a connection, the newest first."""
    rows: Sequence[ScimFailureRow] = await ctx.db.execute(FAILURES_OF_CONNECTION, connection_id=connection_id)
    return rows


def _is_new(ctx: Context, known: Iterable[ScimFailureRow], failure: Failure) -> bool:
    """Return whether the last minute has neither the same failure nor as many as are kept."""
    recent = [_failure(row) for row in known if ctx.now - row.created_at < _INTERVAL]
    return failure not in recent and len(recent) < MOST_FAILURES


def _failure(row: ScimFailureRow) -> Failure:
    return Failure(row.method, row.resource, row.status, row.scim_type, row.message)
