"""Export many rows for administrators, page by page. A page is read when the client has received the one before.

No transaction stays open between pages. A lease ensures that an administrator runs one export at a time. If the process
is killed, the lease expires after a minute.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, TypeVar

from sqlalchemy import bindparam, delete
from sqlmodel import col

from domain import tokens
from domain.admin import events
from domain.admin.errors import ExportInProgress, SearchTooBroad
from domain.context import Context
from domain.errors import Unauthenticated, Unavailable
from domain.identifiers import masked_email
from domain.keyset import Position
from domain.ports import SearchTimedOut
from domain.sessions import sessions
from domain.users import roles
from models import lease
from models.lease import Lease

Row = TypeVar("Row")

MOST_ROWS = 1_000_000
PAGE = 500
"""How many rows are read at once."""

_LASTS = timedelta(seconds=60)
_EXTENDED_AFTER = timedelta(seconds=20)
_RELEASE = delete(Lease).where(col(Lease.name) == bindparam("name"), col(Lease.holder) == bindparam("holder"))

Page = tuple[Sequence[Row], Position | None]
"""Rows, and the position at which the next page begins; None at the end."""


@dataclass(slots=True)
class Export(Generic[Row]):
    """An export that the caller has requested; `begin` runs it."""

    ctx: Context
    name: str
    filters: Mapping[str, str]
    """The filters of the request, for the audit record."""
    permission: tuple[str, str]
    """The resource and action that the caller needs until the end."""
    read: Callable[[Position | None], Awaitable[Page[Row]]]
    """Returns the page that begins after a position; None asks for the first page."""
    holder: str = field(default_factory=tokens.token)
    held_at: datetime | None = None
    """When the lease was taken or extended last."""

    async def begin(self) -> AsyncGenerator[Sequence[Row], None]:
        """Take the lease, read the first page, and return an iterator over all pages.

        Close the iterator if it is not read to its end, so that the lease is released. Raises ExportInProgress,
        SearchTooBroad; the iterator also raises Unauthenticated when the caller loses the session or the permission.
        """
        await self._hold()
        try:
            first = await self._read(None)
        except BaseException:
            await self.ctx.in_new_transaction(self._release)
            raise
        return self._pages(first)

    async def _read(self, after: Position | None) -> Page[Row]:
        try:
            return await self.read(after)
        except SearchTimedOut:
            raise SearchTooBroad from None

    async def _pages(self, page: Page[Row]) -> AsyncGenerator[Sequence[Row], None]:
        number, is_complete = 0, False
        try:
            while True:
                rows, last = page[0][: MOST_ROWS - number], page[1]
                number += len(rows)
                is_complete = last is None
                yield rows
                if last is None or number >= MOST_ROWS:
                    return
                is_complete = False
                await self._check_caller()
                await self._hold()
                page = await self._read(last)
        finally:
            ending = partial(self._end, rows=number, is_complete=is_complete)
            # The response has begun and cannot become an error, and the lease ends by itself.
            with contextlib.suppress(Unavailable):
                await self.ctx.in_new_transaction(ending)

    async def _hold(self) -> None:
        """Take the lease, or extend it from time to time. Raises ExportInProgress."""
        now = self.ctx.resources.clock()
        if self.held_at is not None and now - self.held_at < _EXTENDED_AFTER:
            return
        if not await self.ctx.in_new_transaction(partial(self._take, now=now)):  # defence: ADM26 one-export
            raise ExportInProgress
        self.held_at = now

    async def _take(self, ctx: Context, *, now: datetime) -> bool:
        taking = lease.take(ctx.db.dialect, self._lease, self.holder, now=now, until=now + _LASTS)
        return bool(await ctx.db.execute(taking))

    async def _release(self, ctx: Context) -> None:
        await ctx.db.execute(_RELEASE, name=self._lease, holder=self.holder)

    async def _end(self, ctx: Context, *, rows: int, is_complete: bool) -> None:
        await self._release(ctx)
        filters = {name: masked(value) for name, value in self.filters.items()}
        events.exported(ctx, self.name, filters, rows=rows, is_complete=is_complete)

    async def _check_caller(self) -> None:
        """Check that the caller's session is still active, and that the caller still has the permission.

        Raises Unauthenticated.
        """
        ctx, now = self.ctx, self.ctx.resources.clock()
        found = await sessions.find(ctx.reads, ctx.signed_in.token)
        is_active = found is not None and found[0].is_active(now) and not found[1].is_banned(now)
        # defence: ADM26 export-ends
        if not is_active or found is None or not roles.permits(ctx.policy, found[1], *self.permission):
            raise Unauthenticated

    @property
    def _lease(self) -> str:
        return f"export {self.ctx.signed_in.user.id}"


def masked(value: str) -> str:
    """Return the value of a filter as the audit record keeps it: email addresses are masked, as it outlives users."""
    local, at, _ = value.partition("@")
    return masked_email(value) if local and at else value
