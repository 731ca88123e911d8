"""Audit events about authorization requests."""

from collections.abc import Sequence
from typing import Any

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from models import Outcome

REQUEST_REFUSED = Event(
    "oauth.request_refused",
    N_("An application's request to sign a user in was refused"),
    in_history=False,
    unbounded=True,
)
CODE_ISSUED = Event("oauth.code_issued", N_("Signed in to an application"))
CONSENT_GRANTED = Event("oauth.consent_granted", N_("An application was allowed access to the account"))
CONSENT_DENIED = Event("oauth.consent_denied", N_("An application was denied access to the account"))


def request_refused(ctx: Context, error: str, client_id: str | None) -> None:
    """Record that an authorization request was refused with this OAuth error; `client_id` is None if it is unknown."""
    details: dict[str, Any] = {} if client_id is None else {"clientId": client_id}
    record(ctx, REQUEST_REFUSED, outcome=Outcome.REFUSED, error=error, **details)


def code_issued(ctx: Context, client_id: str, scopes: Sequence[str]) -> None:
    """Record that a client received an authorization code for the caller."""
    record(ctx, CODE_ISSUED, clientId=client_id, scopes=list(scopes))


def consent_granted(ctx: Context, client_id: str, scopes: Sequence[str]) -> None:
    """Record that the caller allowed a client these scopes."""
    record(ctx, CONSENT_GRANTED, clientId=client_id, scopes=list(scopes))


def consent_denied(ctx: Context, client_id: str) -> None:
    """Record that the caller refused the request of a client."""
    record(ctx, CONSENT_DENIED, clientId=client_id)
