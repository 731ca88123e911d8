"""The passkeys of a user: list, rename and remove them."""

from operator import attrgetter

from sqlalchemy import delete, exists, func, select, update
from sqlmodel import col

from domain.context import Context
from domain.passkeys import events, mails
from domain.passkeys.errors import FailedToDeleteLastPasskey, PasskeyNotFound
from domain.passkeys.policy import PasskeyPolicy
from domain.sessions import expiry
from domain.sessions.policy import SessionPolicy
from domain.users import locking, lookup
from models import Account
from models.passkey import (
    COUNT_PASSKEYS,
    FIND_PASSKEY,
    FIND_PASSKEYS,
    PASSKEY_COLUMNS,
    PASSKEYS_OF_USER,
    Passkey,
    PasskeyRow,
)
from models.user import UserRow

_BY_AGE = attrgetter("created_at", "id")


async def of_user(ctx: Context, user_id: str) -> list[PasskeyRow]:
    """Return the passkeys of a user, oldest first."""
    return sorted(await ctx.reads.all(PASSKEYS_OF_USER, user_id), key=_BY_AGE)


async def list_own(ctx: Context) -> list[PasskeyRow]:
    """Return the caller's passkeys, oldest first."""
    return await of_user(ctx, ctx.signed_in.user.id)


async def count(ctx: Context, user_id: str) -> int:
    """Return the number of passkeys of a user, read inside the transaction."""
    number: int = (await ctx.db.execute(COUNT_PASSKEYS, user_id=user_id)).scalar()
    return number


async def rename(ctx: Context, passkey_id: str, name: str) -> PasskeyRow:
    """Rename a passkey of the caller, and return it. Raises PasskeyNotFound, Unauthenticated."""
    user = await locking.lock_caller(ctx)
    await _find(ctx, user.id, passkey_id)
    changed = (
        update(Passkey)
        .where(col(Passkey.id) == passkey_id)
        .values(name=name, updated_at=ctx.now)
        .returning(*PASSKEY_COLUMNS)
    )
    row: PasskeyRow = (await ctx.db.execute(changed.execution_options(row=PasskeyRow))).first()
    events.renamed(ctx, passkey_id)
    return row


async def remove(ctx: Context, passkey_id: str) -> None:
    """Remove a passkey of the caller; sessions that it has opened go on.

    Raises SessionNotFresh, Unauthenticated, PasskeyNotFound, FailedToDeleteLastPasskey.
    """
    expiry.require_fresh(ctx.policy[SessionPolicy], ctx.signed_in, ctx.now)
    await remove_from(ctx, await locking.lock_caller(ctx), passkey_id)


async def remove_from(ctx: Context, user: UserRow, passkey_id: str) -> None:
    """Remove a passkey of a user, whose row is locked. Raises PasskeyNotFound, FailedToDeleteLastPasskey."""
    row = await _find(ctx, user.id, passkey_id)
    # Checked under the user's lock; two requests that delete the last two passkeys must not both succeed.
    if await is_last_way(ctx, user):  # defence: P21 last-way
        raise FailedToDeleteLastPasskey
    await _remove(ctx, user, [row])


async def _find(ctx: Context, user_id: str, passkey_id: str) -> PasskeyRow:
    rows = await ctx.db.execute(FIND_PASSKEY, passkey_id=passkey_id, user_id=user_id)
    row: PasskeyRow | None = rows.first()
    if row is None:
        raise PasskeyNotFound
    return row


async def is_last_way(ctx: Context, user: UserRow) -> bool:
    """Return whether the user has at most one passkey and no other way to sign in.

    The caller has locked the user's row if a change depends on the result.
    """
    if ctx.policy[PasskeyPolicy].mail_signs_in or await count(ctx, user.id) > 1:
        return False
    return not (await ctx.db.execute(select(exists().where(col(Account.user_id) == user.id)))).scalar()


async def _remove(ctx: Context, user: UserRow, rows: list[PasskeyRow], *, by_operator: bool = False) -> None:
    removed = [row.id for row in rows]
    await ctx.db.execute(delete(Passkey).where(col(Passkey.id).in_(removed)))
    for row in rows:
        events.removed(ctx, row, by_operator=by_operator)
        await mails.passkey_removed(ctx, user, row.name)


# --- The operator ---------------------------------------------------------------------------------------------


async def count_foreign(ctx: Context) -> int:
    """Return how many passkeys were created for a domain other than the configured one."""
    # Such passkeys cannot be used: authenticators bind a credential to the domain (RP ID).
    others = select(func.count()).where(col(Passkey.rp_id) != ctx.policy[PasskeyPolicy].rp_id)
    number: int = (await ctx.db.execute(others)).scalar()
    return number


async def list_of(ctx: Context, user: str) -> list[PasskeyRow]:
    """Return the passkeys of the user with this id, address or username. Raises NotFound."""
    return await of_user(ctx, (await lookup.find(ctx, user)).id)


async def remove_of(ctx: Context, user: str, passkey_id: str | None) -> int:
    """Remove a passkey of a user, or all if `passkey_id` is None; return how many were removed.

    `user` is an id, address or username. This may leave the user without a way to sign in. Raises NotFound if there is
    no such user; PasskeyNotFound.
    """
    owner = await lookup.find(ctx, user)
    locked = await locking.lock(ctx, owner.id)
    if passkey_id is not None:
        rows = [await _find(ctx, owner.id, passkey_id)]
    else:
        rows = list(await ctx.db.execute(FIND_PASSKEYS, user_id=owner.id))
    await _remove(ctx, locked or owner, rows, by_operator=True)
    return len(rows)
