"""Audit events about sign-ins and sign-outs through connections."""

from typing import Any

from domain.audit.record import Event, error_detail, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from domain.sessions import events as session_events
from domain.webhooks.publication import EventType, publish
from models import Outcome
from models.sso_connection import ConnectionRow

SIGNED_IN = Event("sso.signed_in", N_("Signed in through an organization"), in_history=False)
REFUSED = Event(
    "sso.refused",
    N_("A sign-in or sign-out through an organization was refused"),
    in_history=False,
    unbounded=True,
)

SSO = AuthenticationMethod("sso", label=None, amr="fed")

WEBHOOK_SIGNED_IN = EventType("sso.signed_in")


def method_of(provider_id: str) -> str:
    """Return the authentication method in sessions and audit records, `sso:<providerId>`."""
    return f"{SSO.name}:{provider_id}"


def signed_in(ctx: Context, row: ConnectionRow, user_id: str, *, is_new: bool) -> None:
    """Record and publish that the identity provider of a connection has identified a user, who may still need a second
    factor."""
    record(ctx, SIGNED_IN, user_id=user_id, actor_id=user_id, **_about(row))
    publish(
        ctx, WEBHOOK_SIGNED_IN, user_id=user_id, actor_id=user_id, providerId=row.provider_id, isNew=is_new
    )


def refused(ctx: Context, row: ConnectionRow | None, code: str, *, said: str | None = None) -> None:
    """Publish that a sign-in through a connection was refused; `said` is the provider's own error code."""
    _refused(ctx, row, code, **error_detail(said))
    if row is not None:
        session_events.publish_failed(ctx, None, method_of(row.provider_id), code)


def logout_refused(ctx: Context, row: ConnectionRow | None, code: str) -> None:
    """Record that a logout message for a connection was refused."""
    _refused(ctx, row, code)


def _refused(ctx: Context, row: ConnectionRow | None, code: str, **details: Any) -> None:
    about = {} if row is None else _about(row)
    record(ctx, REFUSED, outcome=Outcome.REFUSED, code=code, **about, **details)


def _about(row: ConnectionRow) -> dict[str, Any]:
    about = {"provider": row.provider_id}
    return about if row.organization_id is None else {**about, "organizationId": row.organization_id}
