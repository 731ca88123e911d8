"""Audit events of the server: refused origins and redirect targets, starts, and re-encrypted secrets."""

from collections.abc import Mapping

from domain.audit.record import Event, Refused, record
from domain.context import Context
from domain.localization import N_
from models import Outcome

ORIGIN_REFUSED = Event(
    "origin.refused", N_("A request from an untrusted website was refused"), in_history=False
)
REDIRECT_REFUSED = Event(
    "redirect.refused", N_("A redirect to an untrusted website was refused"), in_history=False
)
SERVICE_STARTED = Event("service.started", N_("The service was started"), in_history=False)
SECRETS_REWRITTEN = Event("secrets.rewritten", N_("Stored secrets were encrypted again"), in_history=False)


def origin_refused(ctx: Context, path: str | None, refusal: Refused) -> None:
    """Record a request that a page of an untrusted origin may have sent."""
    record(ctx, ORIGIN_REFUSED, outcome=Outcome.REFUSED, refusal=refusal, path=path)


def redirect_refused(ctx: Context, path: str | None, refusal: Refused) -> None:
    """Record a request with an untrusted redirect target. `path` is that of the operation; None if it is unknown."""
    record(ctx, REDIRECT_REFUSED, outcome=Outcome.REFUSED, refusal=refusal, path=path)


def service_started(ctx: Context, process_id: int) -> None:
    """Record that a process has started to serve."""
    record(ctx, SERVICE_STARTED, process=process_id)


def secrets_rewritten(ctx: Context, rewritten: Mapping[str, int], remaining: int) -> None:
    """Record how many values of each column were re-encrypted, and how many in total may remain under older secrets."""
    record(ctx, SECRETS_REWRITTEN, rewritten=dict(rewritten), remaining=remaining)
