"""Re-encrypt values that are encrypted under older secrets, so that these secrets can be removed from the settings."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple

import structlog
from sqlalchemy import Column, select, update

from domain.ports import Transaction
from models import metadata
from server.audit import events
from server.components.component import Component, Core, PeriodicJob
from server.crypto.keyring import Keyring

Begin = Callable[[], AbstractAsyncContextManager[Transaction]]
"""A function that begins a transaction, which is committed at the end of the block."""

EncryptedValue = tuple[str, bytes]
"""A row's key and its encrypted value."""

_log = structlog.get_logger(__name__)

EVERY = 3600.0
"""Seconds from one pass to the next."""

COLUMNS = tuple(
    str(column) for table in metadata.tables.values() for column in table.c if column.info.get("encrypted")
)
"""The encrypted columns as `table.column`, which is also the purpose that their values are encrypted for."""


class RotationResult(NamedTuple):
    """The result of a pass over one column: values re-encrypted, and values that may remain under older secrets."""

    rewritten: int
    remaining: int


Report = Callable[[Mapping[str, RotationResult]], None]


async def reencrypt(
    begin: Begin, keyring: Keyring, batch: int = 200, report: Report = lambda _: None
) -> dict[str, int]:
    """Re-encrypt values of older secrets under the newest secret, reading `batch` rows at a time.

    Returns and logs for each column how many values may remain under an older secret. If that is 0 for all columns, and
    no instance writes with an older secret, the older secrets can be removed. Returns an empty mapping, without reading
    anything, if there is only one secret. `report` is called with the results if any value was changed.
    """
    if not keyring.rotating:
        return {}
    results = {column: await _reencrypt_column(begin, keyring, column, batch) for column in COLUMNS}
    if any(result.rewritten for result in results.values()):
        report(results)
    return {column: result.remaining for column, result in results.items()}


async def _reencrypt_column(begin: Begin, keyring: Keyring, purpose: str, batch: int) -> RotationResult:
    table, _, name = purpose.partition(".")
    column = metadata.tables[table].c[name]
    rewritten = remaining = unreadable = 0
    async for key, ciphertext in _all(begin, column, batch):
        if keyring.is_current(purpose, ciphertext):
            continue
        text = keyring.decrypt(purpose, ciphertext)
        if text is None:
            unreadable += 1
        elif await _replace(begin, column, key, ciphertext, keyring.encrypt(purpose, text)):
            rewritten += 1
        else:
            remaining += 1
    _log.info(
        "secrets.rewritten", column=purpose, rewritten=rewritten, remaining=remaining, unreadable=unreadable
    )
    return RotationResult(rewritten, remaining)


async def _all(begin: Begin, column: Column[bytes], batch: int) -> AsyncIterator[EncryptedValue]:
    """Yield all values in the order of their keys; each batch is read in a transaction of its own."""
    last = ""
    while rows := await _read(begin, column, last, batch):
        for key, ciphertext in rows:
            yield key, ciphertext
            last = key


async def _read(begin: Begin, column: Column[bytes], after: str, batch: int) -> Sequence[EncryptedValue]:
    key = _key(column)
    statement = select(key, column).where(column.is_not(None), key > after).order_by(key).limit(batch)
    async with begin() as transaction:
        rows = await transaction.execute(statement.execution_options(in_thread=True))
    return [(row[0], row[1]) for row in rows]


async def _replace(begin: Begin, column: Column[bytes], key: str, old: bytes, new: bytes) -> bool:
    """Replace a value unless it has changed. One row per transaction, so that it never waits while holding a lock."""
    own = _key(column)
    table = metadata.tables[column.table.name]
    # The old value is compared, so that a value written meanwhile is not overwritten by an older one.
    change = update(table).where(own == key, column == old).values({column: new}).returning(own)
    async with begin() as transaction:
        return bool(await transaction.execute(change))


def _key(column: Column[bytes]) -> Column[str]:
    [key] = metadata.tables[column.table.name].primary_key
    return key


class KeyRotation(Component):
    """The component that re-encrypts the encrypted columns of all tables under the newest secret."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the job that re-encrypts values of older secrets."""
        core = self._core
        job = partial(reencrypt, core.database.transaction, core.cipher, report=self._audit)
        yield PeriodicJob("rewriting", job, EVERY)

    def _audit(self, results: Mapping[str, RotationResult]) -> None:
        rewritten = {column: result.rewritten for column, result in results.items()}
        remaining = sum(result.remaining for result in results.values())
        self._core.audit(lambda ctx: events.secrets_rewritten(ctx, rewritten, remaining), is_logged=True)
