"""Remove all existing access to an account when its email address is proven for the first time.

A stranger may have signed up with the address and added credentials that would still open the account afterwards.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import bindparam, delete
from sqlalchemy.sql.dml import ReturningDelete

from domain.backchannel_logout import filing
from domain.context import Context
from domain.users import events, mails
from models.base import Access, tables
from models.statements import table_of
from models.user import UserRow


def is_unproven(user: UserRow) -> bool:
    """Return whether the email address was never verified, so that a stranger may have created the account.

    False for a user with a second factor, because proof of the mailbox does not replace that factor.
    """
    return not user.email_verified and not user.two_factor_enabled  # defence: M6 kept


async def remove_access(ctx: Context, user: UserRow, *, replaced: str | None = None) -> Mapping[str, int]:
    """Delete all credentials and sessions of a locked user whose mailbox was just proven; notify the user.

    Return the number of deleted rows of each kind. `replaced` is a kind to keep, because the caller replaces its rows
    in the same transaction. Tables declare the kinds in `__access__`.
    """
    counts: dict[str, int] = {}
    await filing.file_all(ctx, user.id)
    for access, statement in _removals():
        if access.name != replaced:
            counts[access.name] = await _remove(ctx, user, access, statement)
    if any(counts.values()):
        events.unproven_access_removed(ctx, user.id, counts)
    if removed := by_label(counts):
        await mails.account_secured(ctx, user, removed)
    return counts


def by_label(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the numbers of `remove_access` by English names for users; kinds without a name or rows are left out."""
    removed: dict[str, int] = {}
    for access, _ in _removals():
        if access.label is not None and (number := counts.get(access.name, 0)):
            removed[access.label] = removed.get(access.label, 0) + number
    return removed


async def _remove(ctx: Context, user: UserRow, access: Access, statement: ReturningDelete[Any]) -> int:
    ends = (await ctx.db.execute(statement, owner=user.id)).scalars()
    if access.expiry is None:
        return len(ends)
    # Expired rows are deleted too, but they gave no access, so they are not counted.
    return sum(end is None or end > ctx.now for end in ends)


# Built once, because each statement object is compiled once.
@cache
def _removals() -> Sequence[tuple[Access, ReturningDelete[Any]]]:
    """Return the `__access__` declarations of all tables, each with the statement that removes its rows."""
    return [
        (access, _removal(table_of(model).c, access))
        for model in tables()
        for access in getattr(model, "__access__", ())
    ]


def _removal(columns: Any, access: Access) -> ReturningDelete[Any]:
    owner = columns[access.owner]
    removal = delete(owner.table).where(owner == bindparam("owner"))
    if access.where is not None:
        removal = removal.where(access.where(columns))
    return removal.returning(columns[access.expiry or access.owner])
