"""Audit events and webhooks about connections and their domains."""

from collections.abc import Iterable
from typing import Any

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models.sso_connection import ConnectionRow, ConnectionState

CREATED = Event("sso.connection_created", N_("A single sign-on connection was created"), important=True)
UPDATED = Event("sso.connection_updated", N_("A single sign-on connection was changed"), important=True)
PAUSED = Event("sso.connection_paused", N_("A single sign-on connection was paused"), important=True)
DELETED = Event("sso.connection_deleted", N_("A single sign-on connection was deleted"), important=True)
TESTED = Event("sso.connection_tested", N_("A single sign-on connection was tested"))
OTHER_SESSIONS_ENDED = Event(
    "sso.other_sessions_ended", N_("Sessions from other ways to sign in were ended"), important=True
)
DOMAIN_VERIFIED = Event("sso.domain_verified", N_("A domain was verified for single sign-on"))
DOMAIN_LOST = Event(
    "sso.domain_lost", N_("A domain is no longer verified for single sign-on"), important=True
)

WEBHOOK_CREATED = EventType("sso.connection_created", has_user=False)
WEBHOOK_UPDATED = EventType("sso.connection_updated", has_user=False)
WEBHOOK_PAUSED = EventType("sso.connection_paused", has_user=False)
WEBHOOK_DELETED = EventType("sso.connection_deleted", has_user=False)
WEBHOOK_DOMAIN_VERIFIED = EventType("sso.domain_verified", has_user=False)
WEBHOOK_DOMAIN_LOST = EventType("sso.domain_lost", has_user=False)


def created(ctx: Context, row: ConnectionRow) -> None:
    """Record that a connection was created."""
    _record(ctx, CREATED, row, source=row.source)
    _publish(ctx, WEBHOOK_CREATED, row)


def updated(ctx: Context, row: ConnectionRow, fields: Iterable[str], *, identities_ended: int = 0) -> None:
    """Record that fields of a connection were changed; `row` is its new state."""
    changed = sorted(fields)
    if changed == ["state"] and row.state == ConnectionState.PAUSED:
        _record(ctx, PAUSED, row)
        _publish(ctx, WEBHOOK_PAUSED, row)
        return
    _record(ctx, UPDATED, row, fields=changed, identities_ended=identities_ended)
    _publish(ctx, WEBHOOK_UPDATED, row, changed=changed)


def deleted(ctx: Context, row: ConnectionRow, *, identities_ended: int) -> None:
    """Record that a connection was deleted, with the identities of its users."""
    _record(ctx, DELETED, row, identities_ended=identities_ended)
    _publish(ctx, WEBHOOK_DELETED, row)


def tested(ctx: Context, row: ConnectionRow) -> None:
    """Record that the caller has begun a test sign-in."""
    _record(ctx, TESTED, row)


def other_sessions_ended(ctx: Context, row: ConnectionRow, number: int) -> None:
    """Record that sessions of users who must sign in through a connection were ended."""
    _record(ctx, OTHER_SESSIONS_ENDED, row, sessions=number)


def domain_verified(ctx: Context, row: ConnectionRow, domain: str) -> None:
    """Record that a domain of a connection was verified."""
    _record(ctx, DOMAIN_VERIFIED, row, domain=domain)
    _publish(ctx, WEBHOOK_DOMAIN_VERIFIED, row, domain=domain)


def domain_lost(ctx: Context, row: ConnectionRow, domain: str) -> None:
    """Record that a domain lost its verification, because its record was missing for `sso.domain_grace`."""
    _record(ctx, DOMAIN_LOST, row, by_operator=False, domain=domain)
    _publish(ctx, WEBHOOK_DOMAIN_LOST, row, domain=domain)


def _record(ctx: Context, event: Event, row: ConnectionRow, **details: Any) -> None:
    about = {"provider": row.provider_id}
    if row.organization_id is not None:
        about["organizationId"] = row.organization_id
    record(ctx, event, **{"by_operator": ctx.is_operator, **about, **details})


def _publish(ctx: Context, event: EventType, row: ConnectionRow, **data: Any) -> None:
    connection = {
        "providerId": row.provider_id,
        "type": row.type,
        "name": row.name,
        "state": row.state,
        "organizationId": row.organization_id,
    }
    publish(ctx, event, connection=connection, **data)
