"""Audit events of directories, and those that are published to webhooks."""

from collections.abc import Iterable
from typing import Any

from domain.audit.record import Event, Refused, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models import Outcome
from models.scim_token import Directory

USER_CREATED = Event("scim.user_created", N_("The account was created by a directory"))
USER_LINKED = Event("scim.user_linked", N_("A directory took over the account"))
USER_UPDATED = Event("scim.user_updated", N_("The account was changed by a directory"))
USER_DISABLED = Event("scim.user_disabled", N_("The account was disabled by a directory"))
USER_ENABLED = Event("scim.user_enabled", N_("The account was enabled by a directory"))
USER_REMOVED = Event("scim.user_removed", N_("The account was removed from a directory"))
USER_REFUSED = Event(
    "scim.refused", N_("A change by a directory was refused"), in_history=False, unbounded=True
)
GROUP_CHANGED = Event("scim.group_changed", N_("A group was changed by a directory"), in_history=False)
STOPPED = Event(
    "scim.stopped",
    N_("A directory was stopped because it disabled too many accounts"),
    in_history=False,
    important=True,
)
CONFIRMED = Event("scim.confirmed", N_("A stopped directory was allowed to continue"), in_history=False)
TOKEN_CREATED = Event(
    "scim.token_created", N_("A token of a directory was created"), in_history=False, important=True
)
TOKEN_REVOKED = Event("scim.token_revoked", N_("A token of a directory was revoked"), in_history=False)

WEBHOOK_USER_CREATED = EventType("scim.user_created")
WEBHOOK_USER_UPDATED = EventType("scim.user_updated")
WEBHOOK_USER_DISABLED = EventType("scim.user_disabled")
WEBHOOK_USER_ENABLED = EventType("scim.user_enabled")
WEBHOOK_USER_REMOVED = EventType("scim.user_removed")
WEBHOOK_GROUP_CHANGED = EventType("scim.group_changed", has_user=False)
WEBHOOK_STOPPED = EventType("scim.stopped", has_user=False)


def user_created(ctx: Context, directory: Directory, user_id: str) -> None:
    """Record that a directory created a user."""
    _record(ctx, directory, USER_CREATED, WEBHOOK_USER_CREATED, user_id)


def user_linked(ctx: Context, directory: Directory, user_id: str) -> None:
    """Record that a directory took over a user who existed before."""
    record(ctx, USER_LINKED, user_id=user_id, **_details(directory))


def user_updated(ctx: Context, directory: Directory, user_id: str, fields: Iterable[str]) -> None:
    """Record and publish that a directory changed these fields of a user."""
    changed = sorted(fields)
    record(ctx, USER_UPDATED, user_id=user_id, fields=changed, **_details(directory))
    publish(ctx, WEBHOOK_USER_UPDATED, user_id=user_id, changed=changed, **_published(directory))


def user_disabled(ctx: Context, directory: Directory, user_id: str) -> None:
    """Record that a directory disabled a user."""
    _record(ctx, directory, USER_DISABLED, WEBHOOK_USER_DISABLED, user_id)


def user_enabled(ctx: Context, directory: Directory, user_id: str) -> None:
    """Record that a directory enabled a user again."""
    _record(ctx, directory, USER_ENABLED, WEBHOOK_USER_ENABLED, user_id)


def user_removed(ctx: Context, directory: Directory, user_id: str) -> None:
    """Record that a directory removed a user."""
    _record(ctx, directory, USER_REMOVED, WEBHOOK_USER_REMOVED, user_id)


def user_refused(ctx: Context, directory: Directory, user_id: str, refusal: Refused) -> None:
    """Record that a directory was refused a change of a protected user, such as an owner."""
    record(
        ctx, USER_REFUSED, user_id=user_id, outcome=Outcome.REFUSED, refusal=refusal, **_details(directory)
    )


def group_changed(ctx: Context, directory: Directory, team_id: str, change: str) -> None:
    """Record and publish that a directory changed a group; `change` is `created`, `updated` or `deleted`."""
    record(ctx, GROUP_CHANGED, teamId=team_id, change=change, **_details(directory))
    publish(ctx, WEBHOOK_GROUP_CHANGED, teamId=team_id, change=change, **_published(directory))


def stopped(ctx: Context, directory: Directory, disabled: int, members: int) -> None:
    """Record and publish that a directory was stopped after it had disabled `disabled` of its `members` users within an
    hour."""
    record(ctx, STOPPED, outcome=Outcome.REFUSED, disabled=disabled, members=members, **_details(directory))
    publish(ctx, WEBHOOK_STOPPED, disabled=disabled, members=members, **_published(directory))


def confirmed(ctx: Context, connection_id: str) -> None:
    """Record that a stopped directory was resumed."""
    record(ctx, CONFIRMED, connectionId=connection_id)


def token_created(ctx: Context, connection_id: str, token_id: str, *, by_operator: bool = False) -> None:
    """Record that a token of a directory was created."""
    record(ctx, TOKEN_CREATED, by_operator=by_operator, connectionId=connection_id, tokenId=token_id)


def token_revoked(ctx: Context, connection_id: str, token_id: str, *, by_operator: bool = False) -> None:
    """Record that a token of a directory was revoked."""
    record(ctx, TOKEN_REVOKED, by_operator=by_operator, connectionId=connection_id, tokenId=token_id)


def _record(ctx: Context, directory: Directory, event: Event, webhook: EventType, user_id: str) -> None:
    record(ctx, event, user_id=user_id, **_details(directory))
    publish(ctx, webhook, user_id=user_id, **_published(directory))


def _details(directory: Directory) -> dict[str, Any]:
    return {"connectionId": directory.connection.id, "tokenId": directory.token_id}


def _published(directory: Directory) -> dict[str, Any]:
    connection = directory.connection
    return {"providerId": connection.provider_id, "organizationId": connection.organization_id}
