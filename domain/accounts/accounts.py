"""Linked accounts: the credential account, which holds the password, and identities at providers."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, delete, update
from sqlmodel import col

from domain import errors
from domain import tokens as domain_tokens
from domain.accounts import events
from domain.accounts.errors import AccountNotFound, FailedToUnlinkLastAccount
from domain.accounts.policy import AccountPolicy
from domain.context import Context
from domain.identity_provider import Identity, Tokens
from domain.users import locking, profile
from models import CREDENTIAL, Account
from models.account import (
    ACCOUNT_BY_IDENTITY,
    ACCOUNTS_OF_USER,
    CHANGE_ACCOUNT,
    FIND_ACCOUNTS,
    PASSWORD_OF_USER,
    AccountRow,
)
from models.statements import insert, is_, table_of
from models.user import UserRow

ACCESS_TOKEN, REFRESH_TOKEN, ID_TOKEN = "account.access_token", "account.refresh_token", "account.id_token"
"""The purposes under which a provider's tokens are encrypted."""
SCOPES_AT_MOST = 100
"""The maximum number of scopes stored per account."""

_REMOVE_OF_PROVIDER = (
    delete(table_of(Account)).where(is_(Account.provider_id, "provider_id")).returning(col(Account.id))
)

_BY_AGE = attrgetter("created_at", "id")
"""The sort order with the oldest account first."""


async def password_of(ctx: Context, user_id: str) -> str | None:
    """Return the user's password hash as this transaction sees it, or None."""
    hashed: str | None = (await ctx.db.execute(PASSWORD_OF_USER, user_id=user_id)).scalar()
    return hashed


def add_credential(ctx: Context, user_id: str, hashed: str) -> None:
    """Add the account with the password hash `hashed` to a user who has no password."""
    ctx.db.defer(
        insert(Account),
        id=domain_tokens.token(),
        user_id=user_id,
        provider_id=CREDENTIAL,
        issuer="",
        account_id=user_id,
        password=hashed,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def set_password(ctx: Context, user_id: str, hashed: str) -> None:
    """Replace the user's password hash; create the credential account if there is none."""
    if not await _update_password(ctx, user_id, hashed):
        add_credential(ctx, user_id, hashed)


async def replace_hash(ctx: Context, user_id: str, old: str, new: str) -> None:
    """Replace an outdated hash with one of the same password under the current policy, unless it has changed
    meanwhile."""
    await _update_password(ctx, user_id, new, col(Account.password) == old)


async def _update_password(ctx: Context, user_id: str, hashed: str, *conditions: ColumnElement[bool]) -> bool:
    statement = (
        update(Account)
        .where(col(Account.user_id) == user_id, col(Account.provider_id) == CREDENTIAL, *conditions)
        .values(password=hashed, updated_at=ctx.now)
        .returning(col(Account.id))
    )
    return bool(await ctx.db.execute(statement))


async def by_identity(ctx: Context, identity: Identity) -> AccountRow | None:
    """Return the account to which an identity is linked, whichever user it belongs to; None if it is not linked."""
    rows = await ctx.db.execute(
        ACCOUNT_BY_IDENTITY,
        provider_id=identity.provider_id,
        issuer=identity.issuer,
        account_id=identity.subject,
    )
    account: AccountRow | None = rows.first()
    return account


async def add_identity(
    ctx: Context, user_id: str, identity: Identity, tokens: Tokens, requested_scopes: tuple[str, ...]
) -> None:
    """Link an identity to a user, whose row is locked or new, and store the tokens of its provider.

    `requested_scopes` count as granted unless `tokens` has scopes. If another transaction linked the identity first,
    the job is run again.
    """
    account = Account(
        id=domain_tokens.token(),
        user_id=user_id,
        provider_id=identity.provider_id,
        issuer=identity.issuer,
        account_id=identity.subject,
        created_at=ctx.now,
        **_values(ctx, None, tokens, requested_scopes),
    )
    ctx.db.add(account)
    await profile.flush(ctx)


async def keep_tokens(
    ctx: Context, account: AccountRow, tokens: Tokens, requested_scopes: tuple[str, ...] = (), **changes: Any
) -> None:
    """Store the tokens of a provider in a linked account. A token that is None leaves the stored one in place.

    Scopes are added to the stored ones, up to `SCOPES_AT_MOST`. `requested_scopes` count as granted unless `tokens`
    has scopes (RFC 6749, 5.1). `changes` are further columns of the account.
    """
    values = _values(ctx, account, tokens, requested_scopes)
    await ctx.db.execute(CHANGE_ACCOUNT, whose=account.id, **values, **changes)


def _values(
    ctx: Context, account: AccountRow | None, tokens: Tokens, requested_scopes: tuple[str, ...]
) -> dict[str, Any]:
    """Return the columns of an account for the tokens of a provider."""
    values: dict[str, Any] = {}
    if tokens.access_token is not None:
        # Encrypted: a copy of the database must not open the users' accounts at providers.
        # defence: V87 access-token
        values["access_token"] = ctx.cipher.encrypt(ACCESS_TOKEN, tokens.access_token)
        values["access_token_expires_at"] = tokens.access_token_expires_at
        if tokens.token_type:
            values["token_type"] = tokens.token_type
    if tokens.refresh_token is not None:
        # defence: V87 refresh-token
        values["refresh_token"] = ctx.cipher.encrypt(REFRESH_TOKEN, tokens.refresh_token)
        values["refresh_token_expires_at"] = tokens.refresh_token_expires_at
    if tokens.id_token is not None:
        values["id_token"] = ctx.cipher.encrypt(ID_TOKEN, tokens.id_token)  # defence: V87 id-token
    granted = requested_scopes if tokens.scopes is None else tokens.scopes
    united = dict.fromkeys([*(() if account is None else account.scopes), *granted])
    return {**values, "scope": " ".join([*united][:SCOPES_AT_MOST]) or None, "updated_at": ctx.now}


async def of_user(ctx: Context, user_id: str) -> list[AccountRow]:
    """Return the accounts with which a user can sign in, oldest first."""
    return sorted(await ctx.reads.all(ACCOUNTS_OF_USER, user_id), key=_BY_AGE)


async def of_caller(ctx: Context) -> list[AccountRow]:
    """Return the accounts with which the caller can sign in, oldest first."""
    return await of_user(ctx, ctx.signed_in.user.id)


async def find(ctx: Context, provider_id: str | None, account_id: str | None, place: str) -> AccountRow:
    """Return the caller's account that matches both ids; an id of None matches every account.

    `account_id` is the account's id in this service, or else the user's id at the provider. Of several accounts that
    match, the oldest is returned. Raises ValidationError if both ids are None (`place`, such as `query`, is the part of
    the request that should have them), and AccountNotFound if no account of the caller matches.
    """
    _refuse_unnamed(provider_id, account_id, place)
    return _named(await of_caller(ctx), provider_id, account_id)


def _refuse_unnamed(provider_id: str | None, account_id: str | None, place: str) -> None:
    if provider_id is None and account_id is None:
        message = "providerId or accountId is required"
        fields = (errors.Field(place, name, message) for name in ("providerId", "accountId"))
        raise errors.ValidationError(message, *fields)


def _named(rows: Sequence[AccountRow], provider_id: str | None, account_id: str | None) -> AccountRow:
    candidates = [row for row in rows if provider_id in (None, row.provider_id)]
    by_row = [row for row in candidates if account_id in (None, row.id)]
    matching = by_row or [row for row in candidates if row.account_id == account_id]
    if not matching:
        raise AccountNotFound
    return min(matching, key=_BY_AGE)


async def unlink(ctx: Context, provider_id: str | None, account_id: str | None) -> None:
    """Delete an account of the caller, which is found as by `find`. Deleting that of `credential` removes the password.

    The caller's row is locked, so that two concurrent calls cannot delete the last two accounts. Raises ValidationError
    if both ids are None, FailedToUnlinkLastAccount, AccountNotFound.
    """
    _refuse_unnamed(provider_id, account_id, "body")
    await _unlink(ctx, await locking.lock_caller(ctx), provider_id, account_id)


async def remove_of_provider(ctx: Context, provider_id: str) -> int:
    """Delete the accounts of all users at a provider; return their number."""
    return len(await ctx.db.execute(_REMOVE_OF_PROVIDER, provider_id=provider_id))


async def unlink_of(ctx: Context, user: UserRow, account_id: str) -> None:
    """Delete an account of another user, whose row is locked.

    `account_id` is the account's id in this service, or else the user's id at the provider.

    Raises FailedToUnlinkLastAccount, AccountNotFound.
    """
    await _unlink(ctx, user, None, account_id)


async def _unlink(ctx: Context, user: UserRow, provider_id: str | None, account_id: str | None) -> None:
    rows = await ctx.db.execute(FIND_ACCOUNTS, user_id=user.id)
    if len(rows) == 1 and not ctx.policy[AccountPolicy].allow_unlinking_all:
        raise FailedToUnlinkLastAccount
    account = _named(rows, provider_id, account_id)
    await ctx.db.execute(delete(Account).where(col(Account.id) == account.id))
    events.account_unlinked(ctx, user.id, account.provider_id)
