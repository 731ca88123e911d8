"""Descriptions of audit records for the account history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from domain import authentication_methods
from domain.audit.history import HistoryRecord
from domain.audit.record import EVENTS
from domain.context import Context
from domain.localization import Localization
from handlers.account_pages import user_agents
from handlers.pages import sign_in_methods
from models import Outcome


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the history, in the language of the page."""

    time: datetime
    sentence: str
    method: str | None
    """The method of authentication, or the provider that the event is about."""
    is_failure: bool
    by_other: bool
    """Whether an administrator or the operator did it; their network and device are not shown."""
    address: str | None
    device: str | None
    """The browser and its system, in words."""


def entries(ctx: Context, localization: Localization, records: Sequence[HistoryRecord]) -> Sequence[Entry]:
    """Return the lines for audit records of the caller."""
    return [_entry(ctx, localization, record) for record in records]


def _entry(ctx: Context, localization: Localization, record: HistoryRecord) -> Entry:
    is_failure = record.outcome != Outcome.SUCCESS
    by_other = record.actor_id not in (None, ctx.signed_in.user.id) or record.details.get("by") == "operator"
    event = EVENTS[record.event]
    return Entry(
        time=record.time,
        sentence=localization.gettext((is_failure and event.failure) or event.sentence),
        method=_method(localization, record),
        is_failure=is_failure,
        by_other=by_other,
        address=None if by_other else record.address,
        device=user_agents.describe(localization, record.user_agent)
        if record.user_agent and not by_other
        else None,
    )


def _method(localization: Localization, record: HistoryRecord) -> str | None:
    name = record.method or record.details.get("provider")
    if not name:
        return None
    method = authentication_methods.find(name)
    if method is not None and method.label is not None:
        return localization.gettext(method.label)
    return sign_in_methods.provider_name(name.rpartition(":")[2])
