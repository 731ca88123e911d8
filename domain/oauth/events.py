"""Audit events about tokens, and the event for webhooks."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish

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
TOKEN_REVOKED = Event("oauth.token_revoked", N_("An application ended its access"))

WEBHOOK_REFRESH_REUSED = EventType("oauth.refresh_reused")


def token_issued(
    ctx: Context,
    client_id: str,
    grant_type: str,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
) -> None:
    """Record that a client received tokens; `user_id` is None for a token that acts for the client itself."""
    record(
        ctx, TOKEN_ISSUED, user_id=user_id, session_id=session_id, clientId=client_id, grantType=grant_type
    )


def code_replayed(ctx: Context, client_id: str, user_id: str, grant_id: str) -> None:
    """Record that an authorization code was sent a second time, and that its grant was revoked for that."""
    record(ctx, CODE_REPLAYED, user_id=user_id, clientId=client_id, grantId=grant_id)


def refresh_reused(ctx: Context, client_id: str, user_id: str, grant_id: str) -> None:
    """Record and publish that a replaced refresh token was sent again, and that its grant was revoked for that."""
    record(ctx, REFRESH_REUSED, user_id=user_id, clientId=client_id, grantId=grant_id)
    publish(ctx, WEBHOOK_REFRESH_REUSED, user_id=user_id, clientId=client_id)


def token_revoked(ctx: Context, client_id: str, user_id: str | None, kind: str) -> None:
    """Record that a client revoked a token. `user_id` is None for a token that acts for the client itself."""
    record(ctx, TOKEN_REVOKED, user_id=user_id, clientId=client_id, kind=kind)
