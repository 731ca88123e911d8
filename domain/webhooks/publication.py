"""Events for webhooks: their declaration, and their publication in the transaction that causes them.

Each package declares and publishes its events in its `events.py`, next to its audit events. `openapi/webhooks/`
describes them. An event and its deliveries are stored in the transaction of the change that it reports, so that either
both are committed or neither is. Events without a subscribed endpoint are not stored.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.webhooks.policy import WebhookPolicy
from models.delivery import ADD_DELIVERY, DeliveryState
from models.statements import is_
from models.user import SELECT_USER, User, UserRow
from models.webhook_endpoint import SUBSCRIPTIONS, subscriptions
from models.webhook_event import ADD_EVENT, LIFETIME, PAYLOAD, WebhookEvent

EVERYTHING = "*"
"""The subscription to all events, except types with `by_name_only`."""

MOST_BYTES = 20 * 1024
"""The largest body in bytes. In a larger one, the user is reduced to the id."""

MOST_LISTED = 100
"""The most ids in one event."""

DELIVERIES = "delivery"
"""The kind of rows for which a commit wakes the worker that delivers webhooks."""

WEBHOOK_EVENTS: "dict[str, EventType]" = {}
"""Every declared event by name."""

USER_FIELDS: Mapping[str, Any] = {
    "id": attrgetter("id"),
    "email": attrgetter("email"),
    "emailVerified": attrgetter("email_verified"),
    "name": attrgetter("name"),
    "image": attrgetter("image"),
    "createdAt": lambda user: instant(user.created_at),
    "updatedAt": lambda user: instant(user.updated_at),
}
"""The fields of a user that events can contain."""


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event. Declaring one registers it in `WEBHOOK_EVENTS`."""

    name: str
    has_user: bool = True
    """Whether the data has the member `user`, which may be null."""
    by_name_only: bool = False
    """Whether only a subscription by its name includes the type, not `*` or its group."""

    def __post_init__(self) -> None:
        """Register the type. Raises ValueError if the name is already registered."""
        if self.name in WEBHOOK_EVENTS:
            raise ValueError(f"the webhook event {self.name!r} is declared twice")
        WEBHOOK_EVENTS[self.name] = self

    @property
    def group(self) -> str:
        """The subscription to all types whose names begin alike, such as `user.*`."""
        return f"{self.name.partition('.')[0]}.*"

    def is_in(self, subscriptions: Iterable[str]) -> bool:
        """Return whether one of the subscriptions (names, groups or `*`) includes the type."""
        names = {self.name} if self.by_name_only else {self.name, self.group, EVERYTHING}
        return not names.isdisjoint(subscriptions)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event that is not stored yet. `data` are the members of its data except `user` and `actorId`."""

    type: EventType
    user_id: str | None
    actor_id: str | None
    data: Mapping[str, Any]
    address: str | None = None
    """The email address in the data of an event without a user; None if there is none.

    If a user has the address, the content of the event is erased when the user is deleted."""


def instant(moment: datetime) -> str:
    """Return a UTC time in the ISO format of all responses, with milliseconds."""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def optional_instant(moment: datetime | None) -> str | None:
    """Return a time as `instant` does; None for None."""
    return None if moment is None else instant(moment)


def publish(
    ctx: Context,
    event: EventType,
    *,
    user_id: str | None = None,
    actor_id: str | None = None,
    address_in_data: str | None = None,
    **data: Any,
) -> None:
    """Publish an event about a user, or about none: it is stored at the commit of the transaction.

    `actor_id` defaults to the caller, or to the administrator who acts in the name of a user. `address_in_data` is an
    email address in the data of an event without a user. `data` are members of the JSON, by their names there. Does
    nothing if webhooks are disabled.
    """
    if ctx.policy[WebhookPolicy].enabled:
        occurrence = _occurrence(ctx, event, user_id, actor_id, data, address_in_data)
        ctx.before_commit[write].append(occurrence)  # defence: WH11 in-transaction


def publish_refusal(ctx: Context, event: EventType, *, user_id: str | None, **data: Any) -> None:
    """Publish an event about a refusal. It is stored in its own transaction, even if the request is rolled back."""
    if ctx.policy[WebhookPolicy].enabled:
        ctx.after_refusal[write].append(_occurrence(ctx, event, user_id, None, data))


def _occurrence(
    ctx: Context,
    event: EventType,
    user_id: str | None,
    actor_id: str | None,
    data: Mapping[str, Any],
    address: str | None = None,
) -> Occurrence:
    if actor_id is None and ctx.caller is not None:
        actor_id = ctx.caller.impersonated_by or ctx.caller.user.id
    return Occurrence(event, user_id, actor_id, data, address)


async def write(ctx: Context, occurrences: Sequence[Occurrence]) -> None:
    """Store events, each with a delivery for every subscribed endpoint; an event without one is not stored."""
    endpoints = [(row.id, subscriptions(row.events)) for row in await ctx.db.execute(SUBSCRIPTIONS)]
    received: list[tuple[Occurrence, Sequence[str]]] = []
    for occurrence in occurrences:
        subscribers = [one for one, names in endpoints if occurrence.type.is_in(names)]
        if subscribers:
            received.append((occurrence, subscribers))
    if received:
        users: dict[str | None, UserRow | None] = {}
        for user_id in {one.user_id for one, _ in received}:
            # Looked up for an event without a user, too: otherwise the time of a refusal would show who has an account.
            users[user_id] = (await ctx.db.execute(_USER, user_id=user_id or "")).first()
        for occurrence, endpoint_ids in received:
            user = users[occurrence.user_id]
            if user is None and occurrence.address is not None:
                # defence: WH21 address
                user = (await ctx.db.execute(_USER_BY_EMAIL, email=occurrence.address)).first()
            event_id = _add(ctx, occurrence, user)
            for endpoint_id in endpoint_ids:
                add_delivery(ctx, event_id, endpoint_id)


def send(
    ctx: Context, event: EventType, endpoint_id: str, *, delivery_id: str | None = None, **data: Any
) -> str:
    """Store an event without a user for one endpoint, whatever it subscribes to; return the id of the delivery.

    `delivery_id` is the id to use, by default a new one.
    """
    event_id = _add(ctx, _occurrence(ctx, event, None, None, data), None)
    return add_delivery(ctx, event_id, endpoint_id, delivery_id)


def _add(ctx: Context, occurrence: Occurrence, user: UserRow | None) -> str:
    event_id = tokens.token()
    times = {"created_at": ctx.now, "updated_at": ctx.now}
    ctx.db.defer(
        ADD_EVENT,
        id=event_id,
        type=occurrence.type.name,
        payload=ctx.cipher.encrypt(PAYLOAD, body(ctx, occurrence, user)),
        user_id=None if user is None else user.id,
        expires_at=ctx.now + LIFETIME + ctx.policy[WebhookPolicy].history_retention,
        **times,
    )
    return event_id


def add_delivery(ctx: Context, event_id: str, endpoint_id: str, delivery_id: str | None = None) -> str:
    """Store a delivery of an event, which is due now; return its id, which is `delivery_id` or a new one."""
    delivery_id = delivery_id or tokens.token()
    ctx.db.defer(
        ADD_DELIVERY,
        id=delivery_id,
        event_id=event_id,
        endpoint_id=endpoint_id,
        state=DeliveryState.PENDING,
        attempts=0,
        next_attempt=ctx.now,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    ctx.queued.add(DELIVERIES)
    return delivery_id


def body(ctx: Context, occurrence: Occurrence, user: UserRow | None) -> str:
    """Return the JSON of an event (type, time and data), the body of the requests that deliver it.

    `user` is the user whom the event is about; None if there is none, or the user was deleted. If the body is larger
    than MOST_BYTES, it has only the id of the user.
    """
    fields = ctx.policy[WebhookPolicy].user_fields
    shown = None if user is None else {name: USER_FIELDS[name](user) for name in ("id", *fields)}
    if user is None and occurrence.user_id is not None:
        shown = {"id": occurrence.user_id}
    text = _json(ctx, occurrence, shown)
    if shown is not None and len(text.encode()) > MOST_BYTES:
        text = _json(ctx, occurrence, {"id": shown["id"]})
    return text


def _json(ctx: Context, occurrence: Occurrence, user: Mapping[str, Any] | None) -> str:
    about = {"user": user} if occurrence.type.has_user else {}
    data = {**about, **occurrence.data, "actorId": occurrence.actor_id}
    envelope = {"type": occurrence.type.name, "timestamp": instant(ctx.now), "data": data}
    return json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))


async def erase(ctx: Context, user_id: str) -> None:
    """Erase the contents of all events about a user who is about to be deleted; pending deliveries are not sent.

    This locks the user's row for update, because the weaker lock of other functions allows new events that refer to it.
    """
    await ctx.db.execute(_LOCK_AGAINST_EVENTS, user_id=user_id)  # defence: WH21 lock
    await ctx.db.execute(_ERASE, whose=user_id, updated_at=ctx.now)  # defence: WH21 erase


_USER = SELECT_USER.where(is_(User.id, "user_id"))
_USER_BY_EMAIL = SELECT_USER.where(is_(User.email, "email"))
_LOCK_AGAINST_EVENTS = select(col(User.id)).where(is_(User.id, "user_id")).with_for_update()
_ERASE = update(WebhookEvent).where(col(WebhookEvent.user_id) == bindparam("whose")).values(payload=None)
