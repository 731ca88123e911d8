"""Run the checks of the installation. An instance runs them once at a time, and keeps the findings for a minute."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.context import Context

KEPT_FOR = timedelta(seconds=60)
"""How long findings are returned again before the checks run again."""


class Finding(NamedTuple):
    """What a check of the installation found; `fix` is empty if there is nothing to do."""

    check: str
    verdict: str
    """`ok`, `warning`, `wrong` or `skipped`."""
    found: str
    fix: str


class InstallationChecks(Protocol):
    """The checks of `gatewright doctor`."""

    async def __call__(self) -> Sequence[Finding]:
        """Run the checks and return their findings, in the order in which to fix them."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings, and when the checks began."""

    checked_at: datetime
    findings: Sequence[Finding]


@dataclass(slots=True)
class LastReport:
    """The last report of this process. Of concurrent callers that find it too old, one makes a new report under `lock`,
    and the others wait for it."""

    report: Report | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def recent(self, now: datetime) -> Report | None:
        """Return the report unless there is none, or it is older than `KEPT_FOR`."""
        kept = self.report
        return kept if kept is not None and kept.checked_at <= now < kept.checked_at + KEPT_FOR else None


def last(ctx: Context) -> Report | None:
    """Return the last findings of this process, however old; None if it has not run the checks yet.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    return ctx.port[LastReport].report


async def run(ctx: Context) -> Report:
    """Run the checks and return their findings, or those of the last run if it is less than a minute old.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    # defence: ADM24 doctor
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    last = ctx.port[LastReport]
    async with last.lock:
        report = last.recent(ctx.now)
        if report is None:
            report = last.report = Report(ctx.now, await ctx.port[InstallationChecks]())
        return report
