"""List the emails of the outbox page by page, without their texts, by the time of their last or next attempt."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, select, union_all
from sqlmodel import col

from domain.context import Context
from domain.keyset import Place, Position, place
from domain.mail import outbox
from models import MailState, Outbox
from models.queries import ReadStatement, by


@dataclass(frozen=True, slots=True)
class MailFilter:
    """The emails to find, by conditions that must all hold; None stands for no condition."""

    states: Sequence[MailState] | None = None
    template: str | None = None
    user_id: str | None = None


class _Row(NamedTuple):
    id: str
    state: str
    template: str
    user_id: str | None
    payload: bytes | None
    created_at: datetime
    updated_at: datetime
    attempts: int
    next_attempt: datetime
    last_error: str | None


@dataclass(frozen=True, slots=True)
class ListedMail:
    """An email, without its text."""

    id: str
    state: str
    template: str
    user_id: str | None
    recipient: str | None
    """The email address; None for a decoy, and if the payload is erased or cannot be decrypted."""
    created_at: datetime
    updated_at: datetime
    attempts: int
    next_attempt: datetime
    """When the next attempt is due. A sent or failed email keeps its last value."""
    last_error: str | None
    can_be_sent_again: bool

    @property
    def is_waiting(self) -> bool:
        """Return whether the email is still to be sent."""
        return self.state in outbox.WAITING


@dataclass(frozen=True, slots=True)
class MailPage:
    """A page of emails, newest first. `last` is the position after which the next one begins; None on the last page."""

    mails: Sequence[ListedMail]
    last: Position | None
    first: Position | None
    """The position before which there are newer emails; None on the first page."""


_COLUMNS = tuple(col(getattr(Outbox, name)) for name in _Row._fields)
_BY_ID = ReadStatement(select(*_COLUMNS).where(by(Outbox.id)), _Row._make, key=Outbox.id)


async def find(
    ctx: Context,
    wanted: MailFilter,
    *,
    before: Position | None,
    after: Position | None = None,
    limit: int,
    within: timedelta,
) -> MailPage:
    """Return a page of at most `limit` matching emails: the newest, or those next to a position.

    With `before` these are the next older emails, with `after` the next newer ones; at most one of the two is given.
    Raises SearchTimedOut if the search takes longer than `within`.
    """
    where = place(before=before, after=after)
    # Each state is a range of the index by state and time; a user has few emails, which have an index of their own.
    states = tuple(MailState) if wanted.states is None else tuple(wanted.states)
    if wanted.user_id is not None:
        ranges = [_newest(col(Outbox.user_id) == wanted.user_id, col(Outbox.state).in_(states))]
    else:
        ranges = [_newest(col(Outbox.state) == state) for state in states]
    pages = [_page(one, wanted, where, limit + 1) for one in ranges]
    statement = pages[0] if len(pages) == 1 else _merged(pages, where, limit + 1)
    is_scan = wanted.template is not None and wanted.user_id is None
    statements = [statement.execution_options(row=_Row)]
    [found] = await ctx.resources.database.search(statements, within, is_scan=is_scan)
    rows, ends = where.page(found, limit, lambda row: Position(row.next_attempt, row.id))
    return MailPage([_listed(ctx, row) for row in rows], ends.last, ends.first)


async def get(ctx: Context, mail_id: str) -> ListedMail | None:
    """Return the email with this id, or None."""
    row = await ctx.reads.one(_BY_ID, mail_id)
    return None if row is None else _listed(ctx, row)


def _newest(*conditions: ColumnElement[bool]) -> Select[Any]:
    return select(*_COLUMNS).where(*conditions)


def _page(rows: Select[Any], wanted: MailFilter, at: Place, limit: int) -> Select[Any]:
    time, id_ = col(Outbox.next_attempt), col(Outbox.id)
    conditions = list(at.conditions(time, id_))
    if wanted.template is not None:
        conditions.append(col(Outbox.template) == wanted.template)
    return rows.where(and_(True, *conditions)).order_by(*at.order(time, id_)).limit(limit)


def _merged(pages: Sequence[Select[Any]], at: Place, limit: int) -> Any:
    merged = union_all(*(select(page.subquery()) for page in pages)).subquery()
    return select(*merged.c).order_by(*at.order(merged.c.next_attempt, merged.c.id)).limit(limit)


def _listed(ctx: Context, row: _Row) -> ListedMail:
    payload = outbox.opened(ctx, row.payload)
    columns = row._asdict()
    del columns["payload"]
    return ListedMail(
        **columns,
        recipient=outbox.recipient(payload),
        can_be_sent_again=row.state == MailState.FAILED and outbox.can_be_sent_again(payload, ctx.now),
    )
