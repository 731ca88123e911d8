"""Refresh a provider's tokens. Of several concurrent requests for one account, only one calls the provider.

That request holds a lease in the column `refresh_lease_until` of the account. When the request ends, it stores the
outcome in that column for the waiting requests of all instances: NULL after a success, else the time `REFUSED` or
`UNREACHABLE`, which are in the distant past.
"""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from sqlalchemy import ColumnElement, update
from sqlmodel import col

from domain import errors
from domain.accounts import accounts
from domain.accounts.errors import AccountNotFound
from domain.context import Context
from domain.identity_provider import Provider, RefreshRefused, Tokens
from domain.social import events, id_token_replay
from domain.social.errors import ProviderUnavailable, RenewedTokensLost
from domain.users import locking
from models import Account
from models.account import ACCOUNT_BY_ID, FIND_ACCOUNT, AccountRow
from models.base import EPOCH

LEASE = timedelta(seconds=15)
ASKING = 9.0
"""Timeout in seconds of all calls of the provider, shorter than WAIT_TIMEOUT."""
WAIT_TIMEOUT = 10.0
"""Timeout in seconds of other requests that wait for the outcome."""
PAUSE = 0.05
"""The seconds between two reads of the account by a waiting request."""
STORE_PAUSE = 0.25
"""The seconds between two attempts to store new tokens."""

REFUSED = EPOCH
UNREACHABLE = EPOCH + timedelta(milliseconds=1)


class _Lease(NamedTuple):
    """An acquired lease: the value in the row, and its end by the clock of the event loop."""

    until: datetime
    end: float


async def renew(ctx: Context, provider: Provider, seen: AccountRow, refresh_token: str) -> AccountRow:
    """Refresh the tokens of an account; return its row with the new tokens.

    `seen` is the row from which `refresh_token` was read. Call it without an open transaction, because it waits for the
    provider. Raises RefreshRefused (the stored tokens stay), ProviderUnavailable, RenewedTokensLost, and
    AccountNotFound if the account was unlinked meanwhile.
    """
    while True:
        end = asyncio.get_running_loop().time() + LEASE.total_seconds()
        until = await ctx.in_new_transaction(partial(_take, seen=seen))
        if until is not None:
            return await _ask(ctx, provider, seen, refresh_token, _Lease(until, end))
        row = await _settled(ctx, seen)
        if not _is_reencrypted(ctx, seen, row, refresh_token):
            return _result_of_another(row)
        seen = row


async def _take(ctx: Context, seen: AccountRow) -> datetime | None:
    """Acquire the lease and return its end, unless another request holds it, or has refreshed or tried since the row
    was read."""
    marked, until = col(Account.refresh_lease_until), seen.refresh_lease_until
    if until is not None and until > ctx.now:
        return None
    lease = ctx.now + LEASE
    unchanged: ColumnElement[bool] = marked.is_(None) if until is None else marked == until
    taken = (
        update(Account)
        .where(col(Account.id) == seen.id, col(Account.refresh_token) == seen.refresh_token, unchanged)
        .values(refresh_lease_until=lease)
        .returning(col(Account.id))
    )
    return lease if await ctx.db.execute(taken) else None


async def _ask(
    ctx: Context, provider: Provider, seen: AccountRow, refresh_token: str, lease: _Lease
) -> AccountRow:
    try:
        tokens = await _renewed(ctx, provider, refresh_token)
    except Exception as fault:
        outcome = REFUSED if isinstance(fault, RefreshRefused) else UNREACHABLE
        await ctx.in_new_transaction(partial(_give_up, seen=seen, lease=lease.until, outcome=outcome))
        raise
    await _keep(ctx, seen, tokens, lease)
    return await _read(ctx, seen)


async def _renewed(ctx: Context, provider: Provider, refresh_token: str) -> Tokens:
    """Call the provider until the lease ends at the latest; a refresh may need several requests."""
    try:
        async with asyncio.timeout(ASKING):
            return await provider.refresh(refresh_token, ctx.now)
    except TimeoutError as late:
        raise ProviderUnavailable from late


async def _keep(ctx: Context, seen: AccountRow, tokens: Tokens, lease: _Lease) -> None:
    """Store new tokens, and retry while the database is unavailable: the provider will not send them again.

    Raises RenewedTokensLost if the database is still unavailable when the lease ends.
    """
    while True:
        try:
            return await ctx.in_new_transaction(partial(_store, seen=seen, tokens=tokens, lease=lease.until))
        except errors.Unavailable as away:
            if asyncio.get_running_loop().time() + STORE_PAUSE > lease.end:
                raise RenewedTokensLost from away
        await asyncio.sleep(STORE_PAUSE)


async def _store(ctx: Context, seen: AccountRow, tokens: Tokens, lease: datetime) -> None:
    """Store new tokens even if the lease was lost, because the provider may no longer accept the old tokens."""
    await locking.lock(ctx, seen.user_id)
    account = (await ctx.db.execute(FIND_ACCOUNT, id=seen.id, user_id=seen.user_id)).first()
    if account is None:
        raise AccountNotFound
    if tokens.id_token is not None:
        # A refreshed ID token was issued to this service; no caller may sign in by posting it.
        await id_token_replay.spend(ctx, tokens.id_token)  # defence: V18 spend-renewed
    until = None if account.refresh_lease_until == lease else account.refresh_lease_until
    await accounts.keep_tokens(ctx, account, tokens, refresh_lease_until=until)
    events.provider_token_refreshed(ctx, seen.provider_id)


async def _give_up(ctx: Context, seen: AccountRow, lease: datetime, outcome: datetime) -> None:
    held = col(Account.refresh_lease_until) == lease
    await ctx.db.execute(
        update(Account).where(col(Account.id) == seen.id, held).values(refresh_lease_until=outcome)
    )


async def _settled(ctx: Context, seen: AccountRow) -> AccountRow:
    """Return the row once the lease is released. Raises ProviderUnavailable if that takes too long."""
    try:
        async with asyncio.timeout(WAIT_TIMEOUT):
            # Poll the row, because the lease may be held by another instance.
            while _is_held(ctx, row := await _read(ctx, seen)):  # noqa: ASYNC110
                await asyncio.sleep(PAUSE)
    except TimeoutError as late:
        raise ProviderUnavailable from late
    return row


def _is_held(ctx: Context, row: AccountRow) -> bool:
    return row.refresh_lease_until is not None and row.refresh_lease_until > ctx.now


def _is_reencrypted(ctx: Context, seen: AccountRow, row: AccountRow, refresh_token: str) -> bool:
    """Return whether a row differs from the one read before only in the key that encrypts its tokens."""
    if row.refresh_token is None or row.refresh_token == seen.refresh_token:
        return False
    if row.refresh_lease_until != seen.refresh_lease_until:
        return False
    opened = ctx.cipher.decrypt(accounts.REFRESH_TOKEN, row.refresh_token)
    return opened == refresh_token and _access_token(ctx, row) == _access_token(ctx, seen)


def _access_token(ctx: Context, row: AccountRow) -> str | None:
    ciphertext = row.access_token
    return None if ciphertext is None else ctx.cipher.decrypt(accounts.ACCESS_TOKEN, ciphertext)


def _result_of_another(row: AccountRow) -> AccountRow:
    if row.refresh_lease_until == REFUSED:
        raise RefreshRefused
    if row.refresh_lease_until is not None:
        raise ProviderUnavailable
    return row


async def _read(ctx: Context, seen: AccountRow) -> AccountRow:
    row = await ctx.reads.one(ACCOUNT_BY_ID, seen.id)
    if row is None or row.user_id != seen.user_id:
        raise AccountNotFound
    return row
