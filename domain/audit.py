"""What happened, one function per event (behaviour chapter 11).

A success is written in the transaction of the action: no record, no action. A failure or refusal is written after the
rollback in a transaction of its own, and whether that works changes nothing. `server/requests.py` does both.
"""

from typing import Any

from domain import secrets
from domain.context import Context
from models import Audit, Outcome

HINT = "audit.hint"
"""The purpose of the keyed digest that stands for an identifier nobody has."""


def _record(
    ctx: Context,
    event: str,
    *,
    user_id: str | None = None,
    outcome: Outcome = Outcome.SUCCESS,
    code: str | None = None,
    hint: str | None = None,
    session_id: str | None = None,
    method: str | None = None,
    **details: Any,
) -> None:
    """Add a record; user and session are the caller's unless given. `hint` is the typed identifier in the clear."""
    caller = ctx.caller
    known = caller.user.id if caller is not None else None
    ctx.records.append(
        Audit(
            id=secrets.token(),
            time=ctx.now,
            event=event,
            outcome=outcome,
            code=code,
            user_id=user_id or (None if hint is not None else known),
            hint=None if hint is None else ctx.cipher.digests(HINT, hint)[0].hex(),
            actor_id=(caller.session.impersonated_by or known) if caller is not None else user_id,
            session_id=session_id or (caller.session.id if caller is not None else None),
            method=method,
            address=ctx.client.address,
            user_agent=ctx.client.user_agent,
            request_id=ctx.client.request_id or None,
            details=details,
        )
    )


# --- Accounts and providers ------------------------------------------------------------------------------------


# --- Sign-in, sessions -----------------------------------------------------------------------------------------


# --- Users, e-mail addresses -----------------------------------------------------------------------------------


# --- Passwords -------------------------------------------------------------------------------------------------


# --- The second factor -----------------------------------------------------------------------------------------


# --- Protection, operation -------------------------------------------------------------------------------------
