"""Accounts whose address was never verified: end every way in when their mailbox is proven for the first time.

A stranger may have signed up with the address, and prepared ways into the account that outlive the proof.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import bindparam, delete
from sqlalchemy.sql.dml import ReturningDelete

from domain.context import Context
from domain.users import events, mails
from models.base import Access, tables
from models.statements import table_of
from models.user import UserRow


def is_unproven(user: UserRow) -> bool:
    """Return whether a stranger may have prepared the account.

    Never with a second factor: a mailbox does not lift one.
    """
    return not user.email_verified and not user.two_factor_enabled  # defence: M6 kept


async def remove_access(ctx: Context, user: UserRow, *, replaced: str | None = None) -> Mapping[str, int]:
    """End every way into an unproven account that existed before; return how many of each there were.

    The user's row is locked, and their mailbox was proven just now. `replaced` names the rows that the caller replaces
    in the same transaction. Whatever tables declare as `__access__` is removed, so no table is named here.
    """
    counts: dict[str, int] = {}
    for access, statement in _removals():
        if access.name != replaced:
            counts[access.name] = await _remove(ctx, user, access, statement)
    if any(counts.values()):
        events.unproven_access_removed(ctx, user.id, counts)
    if removed := by_label(counts):
        await mails.account_secured(ctx, user, removed)
    return counts


def by_label(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return how many were removed of what users know, by its English name; `counts` as in the audit event."""
    removed: dict[str, int] = {}
    for access, _ in _removals():
        if access.label is not None and (number := counts.get(access.name, 0)):
            removed[access.label] = removed.get(access.label, 0) + number
    return removed


async def _remove(ctx: Context, user: UserRow, access: Access, statement: ReturningDelete[Any]) -> int:
    ends = (await ctx.db.execute(statement, owner=user.id)).scalars()
    if access.expiry is None:
        return len(ends)
    return sum(end is None or end > ctx.now for end in ends)


# Statements that are built once are compiled once.
@cache
def _removals() -> Sequence[tuple[Access, ReturningDelete[Any]]]:
    """Return what tables declare, each with the statement that removes it."""
    return [
        (access, _removal(table_of(model).c, access))
        for model in tables()
        for access in getattr(model, "__access__", ())
    ]


def _removal(columns: Any, access: Access) -> ReturningDelete[Any]:
    removal = delete(columns.user_id.table).where(columns.user_id == bindparam("owner"))
    if access.where is not None:
        removal = removal.where(access.where(columns))
    return removal.returning(columns[access.expiry or "user_id"])
