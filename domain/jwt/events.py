"""Audit events about signing keys. Tokens are counted, not recorded: they would outnumber all other records."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish

SIGNING_KEY_CREATED = Event(
    "signing_key.created", N_("A signing key was created"), in_history=False, important=True
)
SIGNING_KEY_ACTIVATED = Event(
    "signing_key.activated", N_("A signing key was activated"), in_history=False, important=True
)
SIGNING_KEY_RETIRED = Event(
    "signing_key.retired", N_("A signing key was retired"), in_history=False, important=True
)
SIGNING_KEY_REVOKED = Event(
    "signing_key.revoked", N_("A signing key was revoked"), in_history=False, important=True
)

WEBHOOK_CREATED = EventType("signing_key.created", has_user=False)
WEBHOOK_REVOKED = EventType("signing_key.revoked", has_user=False)


def signing_key_created(ctx: Context, kid: str, algorithm: str, *, by_operator: bool) -> None:
    """Record and publish that a key was created and published."""
    record(ctx, SIGNING_KEY_CREATED, by_operator=by_operator, kid=kid, algorithm=algorithm)
    publish(ctx, WEBHOOK_CREATED, kid=kid)


def signing_key_activated(ctx: Context, kid: str, algorithm: str, *, by_operator: bool = False) -> None:
    """Record that a key began to sign."""
    record(ctx, SIGNING_KEY_ACTIVATED, by_operator=by_operator, kid=kid, algorithm=algorithm)


def signing_key_retired(ctx: Context, kid: str, algorithm: str) -> None:
    """Record that a key stopped signing, and its private part was erased."""
    record(ctx, SIGNING_KEY_RETIRED, kid=kid, algorithm=algorithm)


def signing_key_revoked(ctx: Context, kid: str, algorithm: str) -> None:
    """Record and publish that a key was revoked, by the operator or by the caller."""
    record(ctx, SIGNING_KEY_REVOKED, by_operator=ctx.is_operator, kid=kid, algorithm=algorithm)
    publish(ctx, WEBHOOK_REVOKED, kid=kid)
