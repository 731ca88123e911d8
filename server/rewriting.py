"""Rewriting what is encrypted under older secrets, so that these can be removed (behaviour 9.2)."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple

import structlog
from sqlalchemy import Column, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from models import metadata
from server.cipher import Keyring

Begin = Callable[[], AsyncSession]
Sealed = tuple[str, bytes]
"""A row's key and its encrypted value."""

_log = structlog.get_logger(__name__)

EVERY = 3600.0
"""Seconds from one pass to the next."""

COLUMNS = (
    "session.token_copy", "outbox.payload", "two_factor.secret", "two_factor.new_secret",
    "account.access_token", "account.refresh_token", "account.id_token",
)  # fmt: skip
"""The encrypted columns as `table.column`, which is also their purpose; the key of each table is one column of text."""


class Tally(NamedTuple):
    """What a pass found in one column under older secrets: values written anew, and values that stayed."""

    rewritten: int
    remaining: int


Report = Callable[[Mapping[str, Tally]], None]


def _tell_nobody(_: Mapping[str, Tally]) -> None:
    return


async def rewrite(
    begin: Begin, keyring: Keyring, batch: int = 200, report: Report = _tell_nobody
) -> dict[str, int]:
    """Encrypt under the newest secret what an older one encrypted, reading `batch` rows at a time.

    A pass that changed something is reported.
    Gives for each column how many values may remain under an older secret, and logs it. At 0 for all columns,
    once no instance writes with an older secret, these can be removed. Empty when there is only one secret.
    """
    if not keyring.rotating:
        return {}
    tallies = {column: await _rewrite_column(begin, keyring, column, batch) for column in COLUMNS}
    if any(tally.rewritten for tally in tallies.values()):
        report(tallies)
    return {column: tally.remaining for column, tally in tallies.items()}


async def _rewrite_column(begin: Begin, keyring: Keyring, purpose: str, batch: int) -> Tally:
    table, _, name = purpose.partition(".")
    column = metadata.tables[table].c[name]
    rewritten = remaining = unreadable = 0
    async for key, sealed in _all(begin, column, batch):
        if keyring.is_current(purpose, sealed):
            continue
        text = keyring.decrypt(purpose, sealed)
        if text is None:
            unreadable += 1
        elif await _replace(begin, column, key, sealed, keyring.encrypt(purpose, text)):
            rewritten += 1
        else:
            remaining += 1
    _log.info(
        "secrets.rewritten", column=purpose, rewritten=rewritten, remaining=remaining, unreadable=unreadable
    )
    return Tally(rewritten, remaining)


async def _all(begin: Begin, column: Column[bytes], batch: int) -> AsyncIterator[Sealed]:
    """Give every value in the order of the keys; each batch is read in a transaction of its own."""
    last = ""
    while rows := await _read(begin, column, last, batch):
        for key, sealed in rows:
            yield key, sealed
            last = key


async def _read(begin: Begin, column: Column[bytes], after: str, batch: int) -> Sequence[Sealed]:
    key = _key(column)
    wanted = select(key, column).where(column.is_not(None), key > after).order_by(key).limit(batch)
    async with begin() as session, session.begin():
        return [(row[0], row[1]) for row in await session.execute(wanted)]


async def _replace(begin: Begin, column: Column[bytes], key: str, old: bytes, new: bytes) -> bool:
    """Replace a value if it is still the old one. One row to a transaction: it never waits holding a lock."""
    own = _key(column)
    table = metadata.tables[column.table.name]
    change = update(table).where(own == key, column == old).values({column: new}).returning(own)
    async with begin() as session, session.begin():
        return (await session.execute(change)).first() is not None


def _key(column: Column[bytes]) -> Column[str]:
    [key] = metadata.tables[column.table.name].primary_key
    return key
