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


def account_linked(ctx: Context, user_id: str, provider_id: str) -> None:
    """An identity became one more way for a user to sign in."""
    _record(ctx, "account.linked", user_id=user_id, provider=provider_id)


def link_refused(ctx: Context, user_id: str, provider_id: str, code: str) -> None:
    """An identity was not joined to a user."""
    _record(
        ctx, "account.link_refused", user_id=user_id, outcome=Outcome.REFUSED, code=code, provider=provider_id
    )


def account_unlinked(ctx: Context, provider_id: str) -> None:
    """The caller gave one way to sign in up."""
    _record(ctx, "account.unlinked", provider=provider_id)


def provider_token_read(ctx: Context, provider_id: str) -> None:
    """The caller got a provider's tokens."""
    _record(ctx, "provider_token.read", provider=provider_id)


def provider_token_refreshed(ctx: Context, provider_id: str) -> None:
    """A provider has renewed the caller's tokens."""
    _record(ctx, "provider_token.refreshed", provider=provider_id)


def provider_token_failed(ctx: Context, provider_id: str, code: str) -> None:
    """A provider did not renew the caller's tokens."""
    _record(ctx, "provider_token.failed", outcome=Outcome.FAILURE, code=code, provider=provider_id)


# --- Sign-in, sessions -----------------------------------------------------------------------------------------


# --- Users, e-mail addresses -----------------------------------------------------------------------------------


# --- Passwords -------------------------------------------------------------------------------------------------


# --- The second factor -----------------------------------------------------------------------------------------


# --- Protection, operation -------------------------------------------------------------------------------------


def oauth_state_refused(ctx: Context, provider_id: str, code: str) -> None:
    """A browser came back with a state that it did not get here, or not any more."""
    _record(ctx, "oauth_state.refused", outcome=Outcome.REFUSED, code=code, provider=provider_id)
