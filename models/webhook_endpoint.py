"""The table `webhook_endpoint`: URLs that receive events."""

import json
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlmodel import Field, col

from models.base import ENCRYPTED, Instant, Record
from models.statements import insert, is_, table_of

SECRET = "webhook_endpoint.secret"  # noqa: S105 - the purpose of its encryption
PREVIOUS_SECRET = "webhook_endpoint.previous_secret"  # noqa: S105 - the purpose of its encryption


class EndpointState(StrEnum):
    """Whether an endpoint receives events. An administrator has paused a `PAUSED` one; the service has disabled a
    `DISABLED` one."""

    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"


class EndpointSource(StrEnum):
    """Where an endpoint comes from. Endpoints from the configuration can only be changed there."""

    CONFIG = "config"
    OPERATION = "operation"
    CLI = "cli"


class WebhookEndpoint(Record, table=True):
    """One receiver of events. Its secrets are stored encrypted, not as digests, because the service signs with them."""

    __tablename__ = "webhook_endpoint"

    name: str = Field(max_length=64)
    url: str
    description: str | None = None
    events: str
    """The subscriptions, as a JSON list."""
    secret: bytes = Field(sa_column_kwargs=ENCRYPTED, repr=False)
    previous_secret: bytes | None = Field(default=None, sa_column_kwargs=ENCRYPTED, repr=False)
    previous_until: datetime | None = Field(default=None, sa_type=Instant)
    """The time until which requests are signed with the previous secret, too."""
    source: str = Field(max_length=16)
    created_by: str | None = Field(default=None, max_length=32)
    state: str = Field(default=EndpointState.ACTIVE, max_length=16)
    failures: int = 0
    """The number of attempts that have failed since the last success."""
    failing_since: datetime | None = Field(default=None, sa_type=Instant)
    """Since when the endpoint fails: the first of three failures in a row. Then only one attempt is made at a time."""
    last_success_at: datetime | None = Field(default=None, sa_type=Instant)
    next_probe: datetime | None = Field(default=None, sa_type=Instant)
    """The time of the next attempt while the endpoint fails."""


def subscriptions(events: str) -> Sequence[str]:
    """Return the subscriptions in the column `events`; none if the column is malformed, so that no caller fails."""
    try:
        names = json.loads(events)
    except ValueError:
        return ()
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else ()


class EndpointRow(NamedTuple):
    """An endpoint as read by a query; the fields are those of `WebhookEndpoint`."""

    id: str
    name: str
    url: str
    description: str | None
    events: str
    secret: bytes
    previous_secret: bytes | None
    previous_until: datetime | None
    source: str
    created_by: str | None
    state: str
    failures: int
    failing_since: datetime | None
    last_success_at: datetime | None
    next_probe: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def subscriptions(self) -> Sequence[str]:
        """The names of events, of groups such as `user.*`, or `*`."""
        return subscriptions(self.events)

    @property
    def is_active(self) -> bool:
        """Whether the endpoint receives events."""
        return self.state == EndpointState.ACTIVE


ENDPOINT_COLUMNS = tuple(col(getattr(WebhookEndpoint, name)) for name in EndpointRow._fields)
"""The columns of an `EndpointRow`."""

_ENDPOINTS = select(*ENDPOINT_COLUMNS).execution_options(row=EndpointRow)

LIST_ENDPOINTS = _ENDPOINTS.order_by(col(WebhookEndpoint.created_at), col(WebhookEndpoint.id))
"""All endpoints, the oldest first."""

FIND_ENDPOINT = _ENDPOINTS.where(is_(WebhookEndpoint.id, "endpoint_id"))
"""The endpoint `endpoint_id`."""

LOCK_ENDPOINT = FIND_ENDPOINT.with_for_update()
"""The endpoint `endpoint_id`, locked until the transaction ends."""

COUNT_ENDPOINTS = select(func.count()).select_from(table_of(WebhookEndpoint))

SUBSCRIPTIONS = select(col(WebhookEndpoint.id), col(WebhookEndpoint.events)).where(
    col(WebhookEndpoint.state) == EndpointState.ACTIVE.value
)
"""The ids and subscriptions of the active endpoints."""

ADD_ENDPOINT = insert(WebhookEndpoint)

CHANGE_ENDPOINT = (
    update(table_of(WebhookEndpoint))
    .where(is_(WebhookEndpoint.id, "endpoint_id"))
    .returning(*ENDPOINT_COLUMNS)
    .execution_options(row=EndpointRow)
)
"""Set the given columns of the endpoint `endpoint_id`."""

REMOVE_ENDPOINT = delete(table_of(WebhookEndpoint)).where(is_(WebhookEndpoint.id, "endpoint_id"))
