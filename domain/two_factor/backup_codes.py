"""Backup codes: created in sets, stored hashed, used once each."""

import re
from dataclasses import dataclass, field

from sqlalchemy import delete, exists, func, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.two_factor import events
from domain.two_factor.policy import TwoFactorPolicy
from models import BackupCode
from models.backup_code import BackupSetRow
from models.user import UserRow

_SALT_BYTES = 16
_IGNORED = re.compile(r"[\s-]+")
_CODE = re.compile(f"[{tokens.BACKUP_CODE_LETTERS}]{{10}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewSet:
    """New codes that are not stored yet: their plain text, which is shown once, and the values to store."""

    shown: list[str] = field(repr=False)
    hashes: list[bytes]
    salt: bytes
    params: str


async def prepare(ctx: Context) -> NewSet:
    """Create a set of distinct codes and hash them; call it before the transaction begins. Raises Overloaded."""
    shown: dict[str, None] = {}
    while len(shown) < ctx.policy[TwoFactorPolicy].backup_code_count:
        shown[tokens.backup_code()] = None
    # One salt per set, so that a submitted code is hashed once, not once for each stored code.
    salt, params = tokens.random_bytes(_SALT_BYTES), ctx.hasher.hash_params
    hashes = [await ctx.hasher.hash_code(_plain(code), salt, params) for code in shown]
    return NewSet(list(shown), hashes, salt, params)


def store(ctx: Context, user: UserRow, prepared: NewSet, *, live: bool) -> None:
    """Store a set as active (`live`), or as pending until its enrolment is confirmed."""
    set_id = tokens.token()
    for code in prepared.hashes:
        ctx.db.add(
            BackupCode(
                id=tokens.token(),
                user_id=user.id,
                set_id=set_id,
                live=live,
                salt=prepared.salt,
                params=prepared.params,
                code=code,
                created_at=ctx.now,
                updated_at=ctx.now,
            )
        )


async def discard(ctx: Context, user_id: str) -> None:
    """Delete every code of the user."""
    await ctx.db.execute(delete(BackupCode).where(col(BackupCode.user_id) == user_id))


async def discard_waiting(ctx: Context, user_id: str) -> None:
    """Delete the codes of an unconfirmed enrolment."""
    await ctx.db.execute(delete(BackupCode).where(col(BackupCode.user_id) == user_id, ~col(BackupCode.live)))


async def promote(ctx: Context, user_id: str) -> None:
    """Replace the active set with the pending one; without a pending set the active set stays."""
    own = col(BackupCode.user_id) == user_id
    waiting = select(col(BackupCode.id)).where(own, ~col(BackupCode.live)).correlate(None)
    replaced = delete(BackupCode).where(own, col(BackupCode.live), exists(waiting))
    await ctx.db.execute(replaced)  # defence: V53 replace-codes
    promoted = update(BackupCode).where(own, ~col(BackupCode.live)).values(live=True, updated_at=ctx.now)
    await ctx.db.execute(promoted)


async def count(ctx: Context, user_id: str) -> int:
    """Return how many active codes the user has left."""
    left = select(func.count()).where(col(BackupCode.user_id) == user_id, col(BackupCode.live))
    return int((await ctx.db.execute(left)).scalar())


async def hash_code(ctx: Context, stored: BackupSetRow, code: str) -> bytes | None:
    """Hash a code with the salt and cost of a set; return None if the format is wrong. Call it before the transaction.

    Raises Overloaded.
    """
    plain = _plain(code)
    if _CODE.fullmatch(plain) is None:
        return None
    return await ctx.hasher.hash_code(plain, stored.salt, stored.params)


async def use(ctx: Context, user_id: str, stored: BackupSetRow, code_hash: bytes | None) -> bool:
    """Delete the code with this hash from an active set; return whether there was one. False for the hash None.

    Of simultaneous calls exactly one returns True.
    """
    if code_hash is None:
        return False
    # defence: V46 delete-code
    used = delete(BackupCode).where(
        col(BackupCode.user_id) == user_id,
        col(BackupCode.set_id) == stored.set_id,
        col(BackupCode.live),
        col(BackupCode.code) == code_hash,
    )
    # defence: R19 delete-backup-code
    if (await ctx.db.execute(used.returning(col(BackupCode.id)))).first() is None:
        return False
    events.backup_code_used(ctx, user_id)
    return True


def _plain(code: str) -> str:
    # `lower` turns some other characters into ASCII letters, for example the Kelvin sign into `k`.
    return _IGNORED.sub("", code).lower() if code.isascii() else ""
