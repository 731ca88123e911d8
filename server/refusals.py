"""Refusals of the pipeline that are put on record: foreign origins and untrusted redirect targets (behaviour 11)."""

from collections.abc import Callable
from dataclasses import dataclass

from domain import audit, errors
from domain.context import Caller, Client, Context
from domain.errors import Refusal
from server.records import Desk
from server.requests import Requests

_NOTES: dict[type[Refusal], Callable[[Context, str | None, Refusal], None]] = {
    errors.InvalidOrigin: audit.origin_refused,
    errors.MissingOrNullOrigin: audit.origin_refused,
    errors.CrossSiteNavigationLoginBlocked: audit.origin_refused,
    errors.InvalidCallbackUrl: audit.redirect_refused,
    errors.InvalidRedirectUrl: audit.redirect_refused,
    errors.InvalidErrorCallbackUrl: audit.redirect_refused,
    errors.InvalidNewUserCallbackUrl: audit.redirect_refused,
}


@dataclass(frozen=True, slots=True)
class KeptRefusals:
    """Makes a record of a refusal, and leaves it at the desk; the rules put theirs on record themselves."""

    requests: Requests
    desk: Desk

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Take note of a refusal at an operation; the answer does not wait for it."""
        if self.requests.tallies is not None:
            self.requests.tallies.refusal(refusal)
        write = _NOTES.get(type(refusal))
        if write is None:
            return
        ctx = self.requests.context(client, caller)
        write(ctx, template, refusal)
        self.requests.tell(ctx.records)
        self.desk.file(ctx.records)
