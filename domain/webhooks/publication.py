"""Events for webhooks: their declaration, and their publication in the transaction that causes them.

A capability declares its events in its `events.py`, next to those of the audit trail, and publishes them there. The
contract describes each in `openapi/webhooks/`. An event and its deliveries are written before the commit, if an active
endpoint subscribes to it: without the change there is no event, and without the event no change.
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
"""The subscription to all events but those that are only sent to who names them."""

MOST_BYTES = 20 * 1024
"""The largest body; the user of a larger one is reduced to the id."""

MOST_LISTED = 100
"""The most ids in one event."""

DELIVERIES = "delivery"
"""The kind of rows that the worker is woken for."""

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
    """Whether the data has a user, who may be null."""
    by_name_only: bool = False
    """Whether `*` and the subscription to a group leave it out."""

    def __post_init__(self) -> None:
        """Register the type. Raises ValueError if the name is already registered."""
        if self.name in WEBHOOK_EVENTS:
            raise ValueError(f"the webhook event {self.name!r} is declared twice")
        WEBHOOK_EVENTS[self.name] = self

    @property
    def group(self) -> str:
        """The subscription to all types of the same group, such as `user.*`."""
        return f"{self.name.partition('.')[0]}.*"

    def is_in(self, subscriptions: Iterable[str]) -> bool:
        """Return whether one of the subscriptions includes the type."""
        names = {self.name} if self.by_name_only else {self.name, self.group, EVERYTHING}
        return not names.isdisjoint(subscriptions)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event that happened, before it is written. The data are its members beside user and actor."""

    type: EventType
    user_id: str | None
    actor_id: str | None
    data: Mapping[str, Any]
    address: str | None = None
    """The email address in the data of an event without a user: its content is erased with the user who has it."""


def instant(moment: datetime) -> str:
    """Return a UTC time with three digits of fraction, as in all responses."""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def optional_instant(moment: datetime | None) -> str | None:
    """Return an instant as `instant` does, or None."""
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
    """Publish an event about a user, or about none; the actor defaults to the caller.

    It is written before the commit. The members of `data` have their names in JSON.
    """
    if ctx.policy[WebhookPolicy].enabled:
        occurrence = _occurrence(ctx, event, user_id, actor_id, data, address_in_data)
        ctx.before_commit[write].append(occurrence)  # defence: WH11 in-transaction


def publish_refusal(ctx: Context, event: EventType, *, user_id: str | None, **data: Any) -> None:
    """Publish an event about a refusal: it is written in a new transaction, whatever becomes of the request's own."""
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
    """Write events, each with a delivery for every endpoint that receives it; without any, nothing is written."""
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
    """Add an event about no user for one endpoint, whatever it subscribes to; return the id of the delivery."""
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
    """Add a delivery of an event, which is due at once; return its id, by default a new one."""
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
    """Return the body of the requests: type, time and data of an event as JSON."""
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
    """Erase the payloads of the events about a user who is about to be deleted; they are not delivered any more.

    The user's row is locked in the strongest mode first: the lock of rules lets others insert events that refer to it.
    """
    await ctx.db.execute(_LOCK_AGAINST_EVENTS, user_id=user_id)  # defence: WH21 lock
    await ctx.db.execute(_ERASE, whose=user_id, updated_at=ctx.now)  # defence: WH21 erase


_USER = SELECT_USER.where(is_(User.id, "user_id"))
_USER_BY_EMAIL = SELECT_USER.where(is_(User.email, "email"))
_LOCK_AGAINST_EVENTS = select(col(User.id)).where(is_(User.id, "user_id")).with_for_update()
_ERASE = update(WebhookEvent).where(col(WebhookEvent.user_id) == bindparam("whose")).values(payload=None)
