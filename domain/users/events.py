"""Audit events about users."""

from collections.abc import Iterable, Mapping
from typing import Any

from domain.audit.record import Event, Refused, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models import Outcome

USER_CREATED = Event(
    "user.created",
    N_("The account was created"),
    failure=N_("Someone tried to sign up with the email address of this account"),
)
USER_UPDATED = Event("user.updated", N_("The profile was changed"))
USER_DELETED = Event("user.deleted", N_("The account was deleted"), in_history=False)
UNPROVEN_ACCESS_REMOVED = Event(
    "user.unproven_access_removed", N_("Access from before the email address was verified was removed")
)

WEBHOOK_CREATED = EventType("user.created")
WEBHOOK_UPDATED = EventType("user.updated")
WEBHOOK_DELETED = EventType("user.deleted")
WEBHOOK_UNPROVEN_ACCESS_REMOVED = EventType("user.unproven_access_removed")

_BAN = frozenset({"banned", "ban_reason", "ban_expires"})
_NAMES = {"email_verified": "emailVerified", "display_username": "displayUsername"}
"""The columns that have another name in operations."""


IMPORT = "import"
"""The method by which imported users were created, in audit records."""


def user_created(ctx: Context, user_id: str, method: str | None, *, by_operator: bool = False) -> None:
    """Record and publish that a user was created: by the caller, by the operator, by a directory, or by themselves."""
    is_own = ctx.caller is None and not by_operator and not ctx.is_directory
    actor_id = user_id if is_own else None
    record(ctx, USER_CREATED, user_id=user_id, actor_id=actor_id, method=method, by_operator=by_operator)
    publish(ctx, WEBHOOK_CREATED, user_id=user_id, method=method)


def user_imported(ctx: Context, user_id: str) -> None:
    """Record that a user was imported. No webhook event is published, because receivers can import from the same
    source."""
    record(ctx, USER_CREATED, user_id=user_id, method=IMPORT, by_operator=True)


def user_not_created(ctx: Context, owner_id: str, method: str, refusal: Refused) -> None:
    """Record that a sign-up with the user's email address was attempted."""
    record(
        ctx,
        USER_CREATED,
        user_id=owner_id,
        method=method,
        outcome=Outcome.REFUSED,
        refusal=refusal,
    )


def user_updated(ctx: Context, user_id: str, fields: Iterable[str], *, by_operator: bool = False) -> None:
    """Record and publish that these columns of the user were changed."""
    names = sorted(fields)
    record(ctx, USER_UPDATED, user_id=user_id, by_operator=by_operator, fields=names)
    # A ban has its own events, and one that expires has none.
    if changed := [_NAMES.get(name, name) for name in names if name not in _BAN]:
        publish(ctx, WEBHOOK_UPDATED, user_id=user_id, changed=changed)


def user_role_published(ctx: Context, user_id: str) -> None:
    """Publish a webhook event that the roles of a user were replaced."""
    publish(ctx, WEBHOOK_UPDATED, user_id=user_id, changed=["role"])


def user_deleted(ctx: Context, user_id: str, *, by_operator: bool = False) -> None:
    """Record and publish that the user was deleted; this record does not contain their email address."""
    row = record(ctx, USER_DELETED, user_id=user_id, by_operator=by_operator)
    row.address = row.user_agent = None
    publish(ctx, WEBHOOK_DELETED, user_id=user_id)


def unproven_access_removed(ctx: Context, user_id: str, counts: Mapping[str, Any]) -> None:
    """Record and publish that all access to an account with an unverified address was removed; `counts` are the numbers
    of each kind."""
    record(ctx, UNPROVEN_ACCESS_REMOVED, user_id=user_id, actor_id=user_id, **counts)
    publish(ctx, WEBHOOK_UNPROVEN_ACCESS_REMOVED, user_id=user_id, counts=dict(counts))
