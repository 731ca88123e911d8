"""Attempts to deliver logout tokens to clients: find those that are due, and record their outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson
from sqlalchemy import bindparam, delete, func, select, update
from sqlmodel import col

from domain import tokens
from domain.backchannel_logout import events
from domain.backchannel_logout.policy import BackchannelLogoutPolicy
from domain.context import Context
from models import leased_rows
from models.base import Instant
from models.logout_delivery import LogoutDelivery
from models.oauth_client import OauthClient
from models.statements import is_, table_of

EVENT = "http://schemas.openid.net/event/backchannel-logout"

DELAYS = (timedelta(minutes=1), timedelta(minutes=5))
"""The time from each attempt to the next; the third attempt is the last."""

LEASE = timedelta(seconds=30)
"""How long an instance may take for an attempt and for the record of its outcome."""

TOKEN_LIFETIME = timedelta(minutes=2)

SPREAD = 0.2
"""The part of a delay that is random, in both directions."""


class DueClient(NamedTuple):
    """A client with pending deliveries, and when the first of them is due."""

    client_id: str
    due: datetime


@dataclass(frozen=True, slots=True)
class LeasedLogout:
    """A delivery that this instance may attempt until its lease expires."""

    id: str
    client_id: str
    subject: str
    sid: str
    attempts: int
    url: str
    algorithm: str | None
    """The signature algorithm that the client has chosen; None if no signing key has it any more."""
    expires_at: datetime


def _due_clients() -> Any:
    """Return the query of the clients with deliveries.

    It jumps from client to client in the index, so that it reads two rows of each however many deliveries wait.
    """
    client, due = col(LogoutDelivery.client_id), col(LogoutDelivery.next_attempt)
    clients = select(func.min(client).label("client_id")).cte("clients", recursive=True)
    following = select(func.min(client)).where(client > clients.c.client_id).scalar_subquery()
    clients = clients.union_all(select(following).where(clients.c.client_id.is_not(None)))
    first = select(func.min(due)).where(client == clients.c.client_id).scalar_subquery()
    return select(clients.c.client_id, first.label("due")).where(clients.c.client_id.is_not(None))


_DUE_CLIENTS = _due_clients()
_CLAIM = leased_rows.claim(
    LogoutDelivery,
    is_(LogoutDelivery.client_id, "of_client"),
    returning=[
        col(getattr(LogoutDelivery, name)) for name in ("id", "subject", "sid", "attempts", "expires_at")
    ],
)
_REGISTRATION = select(col(OauthClient.registration)).where(
    is_(OauthClient.client_id, "client_id"), col(OauthClient.disabled_at).is_(None)
)
_END = (
    delete(table_of(LogoutDelivery))
    .where(*leased_rows.is_claimed(LogoutDelivery))
    .returning(col(LogoutDelivery.id))
)
_POSTPONE = (
    update(table_of(LogoutDelivery))
    .where(*leased_rows.is_claimed(LogoutDelivery))
    .values(lease_until=None)
    .returning(col(LogoutDelivery.id))
)
_EXPIRED = (
    select(col(LogoutDelivery.id))
    .where(
        col(LogoutDelivery.expires_at) <= bindparam("now", type_=Instant()),
        col(LogoutDelivery.next_attempt) <= bindparam("now", type_=Instant()),
    )
    # In this order it is a range of an index. Without one, PostgreSQL reads a long queue whole at every claim.
    .order_by(col(LogoutDelivery.expires_at))
    .limit(1000)
    # Instances that claim at the same time skip each other's rows instead of waiting for them.
    .with_for_update(skip_locked=True)
    .cte("batch")
)
_EXPIRE = (
    delete(table_of(LogoutDelivery))
    .where(col(LogoutDelivery.id).in_(select(_EXPIRED.c.id)))
    .returning(col(LogoutDelivery.client_id), col(LogoutDelivery.subject))
)


async def due_clients(ctx: Context) -> Sequence[DueClient]:
    """Return the clients with pending deliveries, each with the time at which the first of them is due."""
    return [DueClient(*row) for row in await ctx.db.execute(_DUE_CLIENTS)]


async def claim(ctx: Context, numbers: Mapping[str, int]) -> list[LeasedLogout]:
    """Claim due deliveries for this instance: for each client id in `numbers`, at most that number.

    Deliveries that have waited too long are deleted, and recorded as failed.
    """
    for row in await ctx.db.execute(_EXPIRE, now=ctx.now):  # defence: O23 bounded
        events.logout_failed(ctx, row.client_id, row.subject, "expired")
    return [leased for client_id, most in numbers.items() for leased in await _claim_of(ctx, client_id, most)]


async def _claim_of(ctx: Context, client_id: str, most: int) -> list[LeasedLogout]:
    rows = await ctx.db.execute(_CLAIM, of_client=client_id, now=ctx.now, until=ctx.now + LEASE, most=most)
    registration = (await ctx.db.execute(_REGISTRATION, client_id=client_id)).scalar() if rows else None
    metadata = {} if registration is None else orjson.loads(registration)
    url, algorithm = metadata.get("backchannel_logout_uri"), metadata.get("id_token_signed_response_alg")
    if url is None:
        # The client has been disabled, or wants no more of them.
        for row in rows:
            await ctx.db.execute(_END, **leased_rows.claimed(row.id, row.attempts))
        return []
    if algorithm not in ctx.policy[BackchannelLogoutPolicy].algorithms:
        algorithm = None
    return [
        LeasedLogout(row.id, client_id, row.subject, row.sid, row.attempts, url, algorithm, row.expires_at)
        for row in rows
    ]


def claims_of(issuer: str, delivery: LeasedLogout, now: datetime) -> Mapping[str, Any]:
    """Return the claims of a logout token (Back-Channel Logout 1.0, 2.4)."""
    return {
        "iss": issuer,
        "aud": delivery.client_id,
        "sub": delivery.subject,
        "sid": delivery.sid,
        "iat": int(now.timestamp()),
        "exp": int((now + TOKEN_LIFETIME).timestamp()),
        "jti": tokens.token(),
        "events": {EVENT: {}},
    }


async def mark_delivered(ctx: Context, delivery: LeasedLogout) -> None:
    """Record that the client has accepted the token."""
    if await ctx.db.execute(_END, **leased_rows.claimed(delivery.id, delivery.attempts)):
        events.logout_delivered(ctx, delivery.client_id, delivery.subject)


async def mark_failed(ctx: Context, delivery: LeasedLogout, reason: str) -> bool:
    """Record that an attempt has failed; return whether another one follows. `reason` is for the audit record."""
    claimed = leased_rows.claimed(delivery.id, delivery.attempts)
    if delivery.attempts <= len(DELAYS):
        due = ctx.now + DELAYS[delivery.attempts - 1] * (1 + tokens.spread(SPREAD))
        if due < delivery.expires_at:  # defence: O23 expiry
            await ctx.db.execute(_POSTPONE, **claimed, next_attempt=due, updated_at=ctx.now)
            return True
    if await ctx.db.execute(_END, **claimed):
        events.logout_failed(ctx, delivery.client_id, delivery.subject, reason)
    return False
