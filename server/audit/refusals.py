"""The audit of refusals by the pipeline: untrusted origins and untrusted redirect targets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from domain import errors
from domain.context import Caller, Client, Context, RequestFacts
from domain.errors import Refusal
from server.audit import events
from server.clock import Clock
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


class Audit(Protocol):
    """The function that records events in the background: `server.unit_of_work.UnitOfWork.audit`."""

    def __call__(
        self,
        describe: Callable[[Context], None],
        facts: RequestFacts | None = None,
        *,
        is_logged: bool = False,
    ) -> None:
        """Record the events that `describe` adds to the context; `is_logged` is true if they are already in the log."""


@dataclass(frozen=True, slots=True)
class RefusalAuditor:
    """Counts all refusals in the metrics, and audits refusals of untrusted origins and redirect targets.

    The API layer raises these refusals. Refusals by `domain` are audited there.
    """

    audit: Audit
    clock: Clock
    metrics: MetricsRegistry | None = None

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Count a refusal, and queue an audit record if it is of an origin or a redirect target.

        `template` is the operation's path in the contract; None if no operation was found.
        """
        if self.metrics is not None:
            self.metrics.refusal(refusal)
        write = _NOTES.get(type(refusal))
        if write is not None:
            facts = RequestFacts(self.clock(), client, caller)
            self.audit(lambda ctx: write(ctx, template, refusal), facts)
