"""The record of one event in the audit trail.

A capability declares its events in `events.py`, each with a sentence for people and a function that records it. A
success is written in the transaction of the action: no record, no action. A failure or refusal is written after the
rollback in its own transaction, and an error there changes nothing. `server/unit_of_work.py` does both. Details contain
no secrets and no email addresses, because they outlive the user.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.errors import Refusal
from models import Audit, AuditRow, Outcome
from models.user import UserRow

HINT = "audit.hint"
"""The purpose of the keyed digest that replaces a typed identifier to which no user belongs."""

Refused = Refusal | type[Refusal]

EVENTS: "dict[str, Event]" = {}
"""Every declared event by name."""


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of event. Declaring one registers it in `EVENTS`.

    The sentences are marked with `N_` and say what happened to "the account", since users and administrators read them.
    """

    name: str
    sentence: str
    """What happened, in English and without a full stop."""
    failure: str | None = None
    """The sentence of a failure or refusal, if `sentence` does not fit."""
    in_history: bool = True
    """Whether users see it in the history of their account."""
    important: bool = False
    """Whether it is among the latest events on the overview of the console."""
    unbounded: bool = False
    """Whether unauthenticated clients can cause it without limit; only some of its records are kept."""

    def __post_init__(self) -> None:
        """Register the event. Raises ValueError if the name is already registered."""
        if self.name in EVENTS:
            raise ValueError(f"the event {self.name!r} is declared twice")
        EVENTS[self.name] = self


def hints(ctx: Context, identifier: str) -> list[str]:
    """Return the digests that replace a typed identifier in records, one per service key, the newest key first."""
    return [digest.hex() for digest in ctx.cipher.digests(HINT, identifier.lower())]


def record(  # noqa: PLR0913 - one parameter per column
    ctx: Context,
    event: Event,
    *,
    user_id: str | None = None,
    actor_id: str | None = None,
    outcome: Outcome = Outcome.SUCCESS,
    refusal: Refused | None = None,
    code: str | None = None,
    hint: str | None = None,
    session_id: str | None = None,
    method: str | None = None,
    by_operator: bool = False,
    **details: Any,
) -> AuditRow:
    """Add an audit record to the context, and return it.

    User, actor and session default to those of the caller. `hint` is one of the `hints` of an identifier to which no
    user belongs; such a record has no user. If no user has acted, the details name the operator or the single sign-on
    connection that has.
    """
    caller = ctx.caller
    if caller is not None:
        user_id = user_id or (caller.user.id if hint is None else None)
        actor_id = actor_id or caller.impersonated_by or caller.user.id
        session_id = session_id or caller.credential.id
    by = {} if actor_id is not None else _by_connection(ctx)
    row = AuditRow(
        id=tokens.token(),
        time=ctx.now,
        event=event.name,
        outcome=outcome,
        code=refusal.code if refusal is not None else code,
        user_id=user_id,
        hint=hint,
        actor_id=actor_id,
        session_id=session_id,
        method=method,
        address=ctx.client.address,
        user_agent=ctx.client.user_agent,
        request_id=ctx.client.request_id or None,
        details={**({"by": "operator"} if by_operator else by), **details},
    )
    ctx.records.append(row)
    return row


def _by_connection(ctx: Context) -> dict[str, Any]:
    """Return the details that name the connection that acts, if one does."""
    actor = ctx.connection_actor
    return {} if actor is None else {"by": actor.kind, "connectionId": actor.connection_id}


def record_request(
    ctx: Context, event: Event, user: UserRow | None, email: str, reason: str | None, **details: Any
) -> None:
    """Record a request for an email that was made without a session.

    `user` is the user of the address, None if it has none. `reason` says why no email was sent; None if one was sent.
    """
    user_id = user.id if user is not None else None
    hint = None if user is not None else hints(ctx, email)[0]
    if reason is None:
        record(ctx, event, user_id=user_id, hint=hint, **details)
    else:
        record(ctx, event, user_id=user_id, hint=hint, outcome=Outcome.FAILURE, reason=reason, **details)


def error_detail(word: str | None) -> dict[str, Any]:
    """Return the detail `error` of an audit record with a provider's error code; no detail for None."""
    return {} if word is None else {"error": word}


async def anonymise(ctx: Context, user_id: str) -> None:
    """Remove network address and User-Agent from every record of a deleted user; the id stays."""
    records = update(Audit).where(col(Audit.user_id) == user_id).values(address=None, user_agent=None)
    await ctx.db.execute(records)
