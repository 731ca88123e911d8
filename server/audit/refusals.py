"""Refusals of the pipeline that are put on record: foreign origins and untrusted redirect targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain import errors
from domain.context import Caller, Client, Context
from domain.errors import Refusal
from models import AuditRecord
from server.audit import events
from server.audit.writer import AuditWriter
from server.observability.metrics.registry import MetricsRegistry

_NOTES: dict[type[Refusal], Callable[[Context, str | None, Refusal], None]] = {
    errors.InvalidOrigin: events.origin_refused,
    errors.MissingOrNullOrigin: events.origin_refused,
    errors.CrossSiteNavigationLoginBlocked: events.origin_refused,
    errors.InvalidCallbackUrl: events.redirect_refused,
    errors.InvalidRedirectUrl: events.redirect_refused,
    errors.InvalidErrorCallbackUrl: events.redirect_refused,
    errors.InvalidNewUserCallbackUrl: events.redirect_refused,
}


@dataclass(frozen=True, slots=True)
class RefusalAuditor:
    """Queues an audit record for each refusal of the API layer; rules audit their own refusals."""

    context: Callable[[Client, Caller | None], Context]
    """Returns what a rule works with."""
    report: Callable[[Sequence[AuditRecord]], None]
    """Logs records, and counts them."""
    audit_writer: AuditWriter
    metrics: MetricsRegistry | None = None

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Take note of a refusal at an operation; the answer does not wait for it."""
        if self.metrics is not None:
            self.metrics.refusal(refusal)
        write = _NOTES.get(type(refusal))
        if write is None:
            return
        ctx = self.context(client, caller)
        write(ctx, template, refusal)
        self.report(ctx.records)
        self.audit_writer.enqueue(ctx.records)
