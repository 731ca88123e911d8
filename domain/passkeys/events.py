"""Audit events about passkeys."""

from typing import Any

from domain.audit.record import Event, Refused, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from domain.sessions.events import publish_failed
from domain.webhooks.publication import EventType, publish
from models import Outcome
from models.passkey import PasskeyRow

PASSKEY_REGISTERED = Event("passkey.registered", N_("A passkey was added"))
PASSKEY_REGISTRATION_FAILED = Event("passkey.registration_failed", N_("A passkey could not be added"))
PASSKEY_RENAMED = Event("passkey.renamed", N_("A passkey was renamed"))
PASSKEY_REMOVED = Event("passkey.removed", N_("A passkey was removed"))
PASSKEY_FAILED = Event("passkey.failed", N_("A sign-in with a passkey failed"), unbounded=True)
PASSKEY_COUNTER_REGRESSED = Event(
    "passkey.counter_regressed", N_("A copy of a passkey may have been used"), important=True
)

PASSKEY = AuthenticationMethod("passkey", N_("Passkey"))

WEBHOOK_ADDED = EventType("passkey.added")
WEBHOOK_REMOVED = EventType("passkey.removed")


def registered(ctx: Context, row: PasskeyRow, *, user_verified: bool) -> None:
    """Record and publish that the caller added a passkey."""
    record(ctx, PASSKEY_REGISTERED, passkey_id=row.id, user_verified=user_verified)
    _publish(ctx, WEBHOOK_ADDED, row)


def registration_failed(ctx: Context, refusal: Refused) -> None:
    """Record that the caller failed to add a passkey."""
    record(ctx, PASSKEY_REGISTRATION_FAILED, outcome=Outcome.FAILURE, refusal=refusal)


def renamed(ctx: Context, passkey_id: str) -> None:
    """Record that the caller renamed a passkey."""
    record(ctx, PASSKEY_RENAMED, passkey_id=passkey_id)


def removed(ctx: Context, row: PasskeyRow, *, by_operator: bool = False) -> None:
    """Record and publish that a passkey was removed."""
    record(ctx, PASSKEY_REMOVED, user_id=row.user_id, by_operator=by_operator, passkey_id=row.id)
    _publish(ctx, WEBHOOK_REMOVED, row)


def failed(ctx: Context, refusal: Refused, row: PasskeyRow | None) -> None:
    """Record that a sign-in with a passkey was refused; publish it if the passkey is known (`row` is not None)."""
    details: dict[str, Any] = {} if row is None else {"passkey_id": row.id}
    user_id = None if row is None else row.user_id
    record(ctx, PASSKEY_FAILED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal, **details)
    # Anyone can send unknown credentials without bound, so only those of a user are published.
    if user_id is not None:
        publish_failed(ctx, user_id, PASSKEY.name, refusal.code)


def counter_regressed(ctx: Context, row: PasskeyRow, refusal: Refused, *, user_verified: bool) -> None:
    """Record and publish that the signature counter of a passkey did not rise: the authenticator may be cloned."""
    record(
        ctx,
        PASSKEY_COUNTER_REGRESSED,
        user_id=row.user_id,
        outcome=Outcome.REFUSED,
        refusal=refusal,
        passkey_id=row.id,
        user_verified=user_verified,
    )
    publish_failed(ctx, row.user_id, PASSKEY.name, refusal.code)


def _publish(ctx: Context, event: EventType, row: PasskeyRow) -> None:
    publish(ctx, event, user_id=row.user_id, passkeyId=row.id, name=row.name, deviceType=row.device_type)
