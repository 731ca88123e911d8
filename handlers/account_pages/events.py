"""Descriptions of audit records for the account history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain import authentication_methods
from domain.audit.history import HistoryRecord
from domain.audit.record import EVENTS
from domain.context import Context
from domain.localization import N_, Localization
from handlers.account_pages import user_agents
from handlers.pages import sign_in_methods
from models import Outcome

_BY: Mapping[Any, str] = {
    "operator": N_("by an administrator"),
    "directory": N_("by a directory"),
    "connection": N_("through single sign-on"),
}
"""Who caused an event if it was not the user: texts by the detail `by` of the audit record."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as a line of the account history, in the language of the page."""

    time: datetime
    sentence: str
    method: str | None
    """The method of authentication, or the provider that the event is about."""
    is_failure: bool
    by: str | None
    """Who caused the event, in words; None if it was the user."""
    address: str | None
    """The network from which the event was caused; None if an administrator, the operator or a directory caused it."""
    device: str | None
    """The browser and its system, in words; None if they are unknown, or in the cases in which `address` is None."""


def entries(ctx: Context, localization: Localization, records: Sequence[HistoryRecord]) -> Sequence[Entry]:
    """Return the lines of the history for audit records of the caller, in the same order."""
    return [_entry(ctx, localization, record) for record in records]


def _entry(ctx: Context, localization: Localization, record: HistoryRecord) -> Entry:
    is_failure = record.outcome != Outcome.SUCCESS
    by = "operator" if record.actor_id not in (None, ctx.signed_in.user.id) else record.details.get("by")
    text = _BY.get(by)
    # A sign-in through a connection came from the user's own browser.
    is_elsewhere = by in ("operator", "directory")
    event = EVENTS[record.event]
    return Entry(
        time=record.time,
        sentence=localization.gettext((is_failure and event.failure) or event.sentence),
        method=_method(localization, record),
        is_failure=is_failure,
        by=None if text is None else localization.gettext(text),
        address=None if is_elsewhere else record.address,
        device=user_agents.describe(localization, record.user_agent)
        if record.user_agent and not is_elsewhere
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
