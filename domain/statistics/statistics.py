"""Figures of the service for administrators, each counted with one statement over an index.

A figure that cannot be counted in time is None. The figures are cached by each process for a minute.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, select, true
from sqlmodel import SQLModel, col

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.context import Context
from domain.ports import SearchTimedOut
from domain.sessions.events import SIGN_IN_BANNED, SIGN_IN_FAILED, SIGN_IN_SUCCEEDED
from domain.two_factor.events import TWO_FACTOR_FAILED
from domain.users.events import IMPORT, USER_CREATED
from models import Audit, MailState, Outbox, Session, User
from models.daily_count import DailyCount

KEPT_FOR = timedelta(seconds=60)
"""How long figures are cached."""

DAYS = 30
"""The number of days in the charts, today included."""

_WITHIN = timedelta(milliseconds=200)
"""How long all figures may take, which are counted table by table at the same time."""

_MOST_COUNTS = 10_000
"""Rows that the charts are made of."""

_DAY, _MONTH = timedelta(days=1), timedelta(days=30)
_FAILURES = (SIGN_IN_FAILED.name, SIGN_IN_BANNED.name, TWO_FACTOR_FAILED.name)
_WAITING = (MailState.UNRESOLVED, MailState.QUEUED)


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on one day (UTC)."""

    day: datetime
    sign_ups: int
    """New users, except imported ones."""
    sign_ins: Mapping[str, int]
    """The number of sign-ins by their last method, such as `password` or `totp`."""
    failures: Mapping[str, int]
    """The number of failed or refused sign-ins and second factors, by error code."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of the service. None stands for a figure that could not be counted in time."""

    counted_at: datetime
    users: int | None
    users_of_day: int | None
    """Users created within the last 24 hours. The other figures of a day are of the last 24 hours, too."""
    users_of_month: int | None
    """Users created within the last 30 days."""
    active_sessions: int | None
    sign_ins_of_day: int | None
    failures_of_day: int | None
    mails_waiting: int | None
    mails_failed: int | None
    days: Sequence[Day] | None
    """The last 30 days, oldest first."""


@dataclass(slots=True)
class StatisticsCache:
    """The figures that this process has counted last. Only one caller counts them again; others wait for it."""

    statistics: Statistics | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def recent(self, now: datetime) -> Statistics | None:
        """Return the cached figures; None if there are none or they are older than a minute."""
        kept = self.statistics
        return kept if kept is not None and kept.counted_at <= now < kept.counted_at + KEPT_FOR else None


async def get(ctx: Context) -> Statistics:
    """Return the figures of the service. Raises YouAreNotAllowedToManageService, TwoFactorRequired."""
    # defence: ADM24 statistics
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    cache = ctx.port[StatisticsCache]
    async with cache.lock:
        found = cache.recent(ctx.now)
        if found is None:
            found = cache.statistics = await _count(ctx)
        return found


async def _count(ctx: Context) -> Statistics:
    now, created, time = ctx.now, col(User.created_at), col(Audit.time)
    since = now - _DAY
    of_users, [active_sessions], of_day, of_mails, days = await asyncio.gather(
        # The number of all users takes longest.
        _numbers(ctx, (User, created > since), (User, created > now - _MONTH), (User, true())),
        _numbers(ctx, (Session, col(Session.expires_at) > now)),
        _numbers(
            ctx,
            (Audit, and_(col(Audit.event) == SIGN_IN_SUCCEEDED.name, time > since)),
            (Audit, and_(col(Audit.event).in_(_FAILURES), time > since)),
        ),
        _numbers(
            ctx,
            (Outbox, col(Outbox.state).in_(_WAITING)),
            (Outbox, col(Outbox.state) == MailState.FAILED),
        ),
        _days(ctx),
    )
    return Statistics(
        counted_at=now,
        users=of_users[2],
        users_of_day=of_users[0],
        users_of_month=of_users[1],
        active_sessions=active_sessions,
        sign_ins_of_day=of_day[0],
        failures_of_day=of_day[1],
        mails_waiting=of_mails[0],
        mails_failed=of_mails[1],
        days=days,
    )


async def _numbers(ctx: Context, *wanted: tuple[type[SQLModel], ColumnElement[bool]]) -> Sequence[int | None]:
    """Return how many rows of each table meet the condition; None for those that are not counted within `_WITHIN`."""
    numbers: list[int | None] = []
    clock = asyncio.get_running_loop().time
    begun = clock()
    for table, condition in wanted:
        left = _WITHIN - timedelta(seconds=clock() - begun)
        counting = select(func.count()).select_from(table).where(condition)
        found = await _search(ctx, counting, left) if left > timedelta() else None
        numbers.append(None if found is None else int(found[0][0]))
    return numbers


async def _search(ctx: Context, statement: Select[Any], within: timedelta) -> Sequence[Any] | None:
    """Return the rows of a statement, or None if it takes too long."""
    try:
        [found] = await ctx.resources.database.search([statement], within, is_scan=False)
    except SearchTimedOut:
        return None
    return found


async def _days(ctx: Context) -> Sequence[Day] | None:
    today = ctx.now.replace(hour=0, minute=0, second=0, microsecond=0)
    first = today - timedelta(days=DAYS - 1)
    wanted = (USER_CREATED.name, SIGN_IN_SUCCEEDED.name, *_FAILURES)
    of_days = col(DailyCount.day) >= first, col(DailyCount.day) <= today, col(DailyCount.event).in_(wanted)
    columns = [col(getattr(DailyCount, name)) for name in ("day", "event", "way_in", "code", "count")]
    found = await _search(ctx, select(*columns).where(*of_days).limit(_MOST_COUNTS), _WITHIN)
    if found is None:
        return None
    return [_day(first + timedelta(days=number), found) for number in range(DAYS)]


def _day(day: datetime, counts: Sequence[Any]) -> Day:
    sign_ups, sign_ins, failures = 0, dict[str, int](), dict[str, int]()
    for _, event, way_in, code, number in (row for row in counts if row[0] == day):
        if event == SIGN_IN_SUCCEEDED.name:
            sign_ins[way_in] = sign_ins.get(way_in, 0) + number
        elif event in _FAILURES:
            failures[code] = failures.get(code, 0) + number
        elif not code and way_in != IMPORT:  # A sign-up that was refused has the code of its response.
            sign_ups += number
    return Day(day, sign_ups, dict(sorted(sign_ins.items())), dict(sorted(failures.items())))
