"""Renewing a provider's tokens: of all who want the same at once, one asks the provider (behaviour 7.6).

Who asks holds a lease on the account's row. When it is over, what came of it stands in the lease's place, so that
those who waited, on whatever instance, learn it: nothing after a success, else one of two moments long past.
"""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import ColumnElement, update
from sqlmodel import col, select

from domain import accounts, audit, errors, users
from domain.context import Context
from domain.providers import Provider, RefreshRefused, Tokens
from models import Account
from models.base import EPOCH
from models.queries import ACCOUNT_BY_ID, AccountRow

LEASE = timedelta(seconds=15)
PATIENCE = 10.0
"""Seconds that the others wait."""
PAUSE = 0.05
"""Seconds between two looks at the row."""

REFUSED = EPOCH
UNREACHABLE = EPOCH + timedelta(milliseconds=1)


async def renew(ctx: Context, provider: Provider, seen: AccountRow, refresh_token: str) -> AccountRow:
    """Give the account with renewed tokens; `seen` is the row that held this refresh token.

    No transaction may be open: it may take as long as the provider. Raises RefreshRefused (what is stored stays),
    ProviderUnavailable, and AccountNotFound when it was unlinked meanwhile.
    """
    lease = ctx.now + LEASE
    if await ctx.apart(partial(_take, seen=seen, lease=lease)):
        return await _ask(ctx, provider, seen, refresh_token, lease)
    return await _result_of_another(ctx, seen)


async def _take(ctx: Context, seen: AccountRow, lease: datetime) -> bool:
    """Take the lease if nobody holds it, and nobody has renewed or tried to since the row was seen."""
    marked, until = col(Account.refresh_lease_until), seen.refresh_lease_until
    if until is not None and until > ctx.now:
        return False
    unchanged: ColumnElement[bool] = marked.is_(None) if until is None else marked == until
    taken = (
        update(Account)
        .where(col(Account.id) == seen.id, col(Account.refresh_token) == seen.refresh_token, unchanged)
        .values(refresh_lease_until=lease)
        .returning(col(Account.id))
    )
    return (await ctx.db.execute(taken)).first() is not None


async def _ask(
    ctx: Context, provider: Provider, seen: AccountRow, refresh_token: str, lease: datetime
) -> AccountRow:
    try:
        tokens = await provider.refresh(refresh_token, ctx.now)
    except Exception as fault:
        outcome = REFUSED if isinstance(fault, RefreshRefused) else UNREACHABLE
        await ctx.apart(partial(_give_up, seen=seen, lease=lease, outcome=outcome))
        raise
    await ctx.apart(partial(_store, seen=seen, tokens=tokens))
    return await _read(ctx, seen)


async def _store(ctx: Context, seen: AccountRow, tokens: Tokens) -> None:
    """Store new tokens, whoever holds the lease by now: the provider may honour the old ones no more."""
    await users.lock(ctx, seen.user_id)
    own = select(Account).where(Account.id == seen.id, Account.user_id == seen.user_id)
    account = (await ctx.db.execute(own)).scalar_one_or_none()
    if account is None:
        raise errors.AccountNotFound
    accounts.keep_tokens(ctx, account, tokens)
    account.refresh_lease_until = None
    audit.provider_token_refreshed(ctx, seen.provider_id)


async def _give_up(ctx: Context, seen: AccountRow, lease: datetime, outcome: datetime) -> None:
    held = col(Account.refresh_lease_until) == lease
    await ctx.db.execute(
        update(Account).where(col(Account.id) == seen.id, held).values(refresh_lease_until=outcome)
    )


async def _result_of_another(ctx: Context, seen: AccountRow) -> AccountRow:
    try:
        async with asyncio.timeout(PATIENCE):
            # The holder may be another instance, so there is nothing to wait for but the row.
            while _is_held(ctx, row := await _read(ctx, seen)):  # noqa: ASYNC110
                await asyncio.sleep(PAUSE)
    except TimeoutError as late:
        raise errors.ProviderUnavailable from late
    if row.refresh_lease_until == REFUSED:
        raise RefreshRefused
    if row.refresh_lease_until is not None:
        raise errors.ProviderUnavailable
    return row


def _is_held(ctx: Context, row: AccountRow) -> bool:
    return row.refresh_lease_until is not None and row.refresh_lease_until > ctx.now


async def _read(ctx: Context, seen: AccountRow) -> AccountRow:
    row = await ctx.reads.one(ACCOUNT_BY_ID, seen.id)
    if row is None or row.user_id != seen.user_id:
        raise errors.AccountNotFound
    return row
