"""Audit events of the provider, and the event for webhooks."""

from collections.abc import Sequence

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models import Outcome

TOKEN_ISSUED = Event("oauth.token_issued", N_("An application received tokens"), in_history=False)
CODE_REPLAYED = Event(
    "oauth.code_replayed",
    N_("The access of an application ended, because an authorization code was used twice"),
    important=True,
)
REFRESH_REUSED = Event(
    "oauth.refresh_reused",
    N_("The access of an application ended, because a refresh token was used twice"),
    important=True,
)

WEBHOOK_REFRESH_REUSED = EventType("oauth.refresh_reused")


def token_issued(
    ctx: Context,
    client_id: str,
    grant_type: str,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
) -> None:
    """A client received tokens, for a user or for itself."""
    record(
        ctx, TOKEN_ISSUED, user_id=user_id, session_id=session_id, clientId=client_id, grantType=grant_type
    )


def code_replayed(ctx: Context, client_id: str, user_id: str, grant_id: str) -> None:
    """A used code was sent again, and its grant was revoked."""
    record(ctx, CODE_REPLAYED, user_id=user_id, clientId=client_id, grantId=grant_id)


def refresh_reused(ctx: Context, client_id: str, user_id: str, grant_id: str) -> None:
    """A rotated refresh token was sent again, and its grant was revoked."""
    record(ctx, REFRESH_REUSED, user_id=user_id, clientId=client_id, grantId=grant_id)
    publish(ctx, WEBHOOK_REFRESH_REUSED, user_id=user_id, clientId=client_id)


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
    """An authorization request was refused with an error of the protocol; the client is unknown if it is None."""
    details = {} if client_id is None else {"client_id": client_id}
    record(ctx, REQUEST_REFUSED, outcome=Outcome.REFUSED, error=error, **details)


def code_issued(ctx: Context, client_id: str, scopes: Sequence[str]) -> None:
    """A client got an authorization code for the caller."""
    record(ctx, CODE_ISSUED, client_id=client_id, scopes=list(scopes))


def consent_granted(ctx: Context, client_id: str, scopes: Sequence[str]) -> None:
    """The caller has allowed a client these scopes."""
    record(ctx, CONSENT_GRANTED, client_id=client_id, scopes=list(scopes))


def consent_denied(ctx: Context, client_id: str) -> None:
    """The caller has refused the request of a client."""
    record(ctx, CONSENT_DENIED, client_id=client_id)
