"""Audit events about sign-ins and sessions."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from domain.audit.record import Event, Refused, error_detail, hints, record
from domain.context import Caller, Context
from domain.localization import N_
from domain.webhooks.publication import MOST_LISTED, EventType, publish, publish_refusal
from models import Outcome
from models.session import SessionRow

SIGN_IN_SUCCEEDED = Event("sign_in.succeeded", N_("Signed in"))
SIGN_IN_PENDING = Event("sign_in.pending", N_("A sign-in asked for the second factor"))
SIGN_IN_FAILED = Event("sign_in.failed", N_("A sign-in failed"))
SIGN_IN_BANNED = Event("sign_in.banned", N_("A sign-in was refused, because the account is blocked"))
SIGN_OUT = Event("sign_out", N_("Signed out"))
SESSION_CREATED = Event("session.created", N_("A new session was opened after the password was changed"))
SESSION_REVOKED = Event("session.revoked", N_("A session was ended"))
SESSION_REVOKED_ALL = Event("session.revoked_all", N_("All sessions were ended"))
SESSION_REVOKED_OTHERS = Event("session.revoked_others", N_("All other sessions were ended"))
SSO_IDENTITY_LINKED = Event("sso.identity_linked", N_("The sign-in of an organization was connected"))

WEBHOOK_CREATED = EventType("session.created")
WEBHOOK_REVOKED = EventType("session.revoked")
WEBHOOK_SSO_IDENTITY_LINKED = EventType("sso.identity_linked")
WEBHOOK_SIGN_IN_FAILED = EventType("sign_in.failed", by_name_only=True)


class EndReason(StrEnum):
    """Why sessions were ended, as the field `reason` of webhook events has it."""

    SIGN_OUT = "sign_out"
    REVOKED = "revoked"
    """By their user."""
    REPLACED = "replaced"
    """By a newer session in the same browser."""
    SESSION_LIMIT = "session_limit"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - a reason
    PASSWORD_RESET = "password_reset"  # noqa: S105 - a reason
    BANNED = "banned"
    ADMIN = "admin"
    """By an administrator or the operator."""
    DIRECTORY = "directory"
    """By the directory of a company."""
    IMPERSONATION_ENDED = "impersonation_ended"
    UNPROVEN_ACCESS_REMOVED = "unproven_access_removed"
    PROVIDER_SIGN_OUT = "provider_sign_out"
    """The user signed out at the identity provider of their organization."""
    SSO_CONNECTION_ENDED = "sso_connection_ended"
    """The connection to their identity provider was deleted, or leads to another provider."""
    SSO_REQUIRED = "sso_required"
    """The user must sign in with their organization from now on."""


def sign_in_succeeded(ctx: Context, user_id: str, session_id: str, method: str, **details: Any) -> None:
    """Record that a user signed in; `method` is the last authentication method, such as the second factor."""
    record(
        ctx,
        SIGN_IN_SUCCEEDED,
        user_id=user_id,
        actor_id=user_id,
        session_id=session_id,
        method=method,
        **details,
    )


def sign_in_pending(ctx: Context, user_id: str, method: str, **details: Any) -> None:
    """Record that a user has passed everything but the second factor."""
    record(ctx, SIGN_IN_PENDING, user_id=user_id, actor_id=user_id, method=method, **details)


def sign_in_failed(ctx: Context, user_id: str | None, identifier: str, method: str, refusal: Refused) -> None:
    """Record and publish that a sign-in failed; without a user, a hint of the entered identifier is stored.

    The hint is computed for a known user too, so that both take the same time.
    """
    [hint, *_] = hints(ctx, identifier)
    record(
        ctx,
        SIGN_IN_FAILED,
        user_id=user_id,
        hint=hint if user_id is None else None,
        method=method,
        outcome=Outcome.FAILURE,
        refusal=refusal,
    )
    publish_failed(ctx, user_id, method, refusal.code)


def provider_sign_in_failed(ctx: Context, method: str, code: str, *, said: str | None = None) -> None:
    """Record and publish that a sign-in through a provider failed; `said` is the error code of the provider, None if it
    reported none."""
    outcome = Outcome.FAILURE if said is None else Outcome.REFUSED
    record(ctx, SIGN_IN_FAILED, method=method, outcome=outcome, code=code, **error_detail(said))
    publish_failed(ctx, None, method, code)


def sign_in_refused(ctx: Context, user_id: str, method: str, refusal: Refused) -> None:
    """Record and publish that the credential was right, but the user must verify their email address or sign in through
    a connection."""
    record(ctx, SIGN_IN_FAILED, user_id=user_id, method=method, outcome=Outcome.REFUSED, refusal=refusal)
    publish_failed(ctx, user_id, method, refusal.code)


def sign_in_banned(ctx: Context, user_id: str, method: str | None, refusal: Refused) -> None:
    """Record and publish that the credential was right, but the user is banned."""
    record(ctx, SIGN_IN_BANNED, user_id=user_id, method=method, outcome=Outcome.REFUSED, refusal=refusal)
    publish_failed(ctx, user_id, method, refusal.code)


def publish_failed(ctx: Context, user_id: str | None, method: str | None, code: str) -> None:
    """Publish a webhook event that a sign-in failed with an error code. It does not contain what was entered."""
    publish_refusal(
        ctx, WEBHOOK_SIGN_IN_FAILED, user_id=user_id, code=code, method=method, address=ctx.client.address
    )


def sign_out(ctx: Context, caller: Caller) -> None:
    """Record and publish that a caller signed out. Call it for each session that the request ended."""
    actor_id = caller.session.impersonated_by or caller.user.id
    record(ctx, SIGN_OUT, user_id=caller.user.id, actor_id=actor_id, session_id=caller.session.id)
    publish_ended(ctx, EndReason.SIGN_OUT, caller.user.id, [caller.session.id], actor_id=actor_id)


def session_opened(ctx: Context, session: SessionRow) -> None:
    """Publish a webhook event that a session was created."""
    publish(
        ctx,
        WEBHOOK_CREATED,
        user_id=session.user_id,
        # defence: WH23 session-id
        sessionId=session.id,
        method=session.method,
        address=session.ip_address,
        userAgent=session.user_agent,
    )


def publish_ended(
    ctx: Context,
    reason: EndReason,
    user_id: str | None,
    session_ids: Sequence[str],
    *,
    is_all: bool = False,
    actor_id: str | None = None,
) -> None:
    """Publish webhook events that sessions of a user were ended; none if `session_ids` is empty.

    `is_all` means that all sessions of the user were ended, or, if `user_id` is None, of every user. With `is_all`, one
    event without ids is published for every user or for more than MOST_LISTED sessions. Without it, long lists are
    split into several events.
    """
    lists = [session_ids[start : start + MOST_LISTED] for start in range(0, len(session_ids), MOST_LISTED)]
    if is_all and session_ids and (user_id is None or len(lists) > 1):
        lists = [()]
    for listed in lists:
        _publish_ended(ctx, reason, user_id, listed, is_all=is_all, actor_id=actor_id)


def _publish_ended(
    ctx: Context,
    reason: EndReason,
    user_id: str | None,
    session_ids: Sequence[str],
    *,
    is_all: bool,
    actor_id: str | None = None,
) -> None:
    publish(
        ctx,
        WEBHOOK_REVOKED,
        user_id=user_id,
        actor_id=actor_id,
        sessionIds=list(session_ids),
        all=is_all,
        reason=reason.value,
    )


def sso_identity_linked(ctx: Context, user_id: str, provider_id: str) -> None:
    """Record and publish that an identity at the connection `provider_id` opens the account of a user from now on."""
    record(ctx, SSO_IDENTITY_LINKED, user_id=user_id, provider=provider_id)
    publish(ctx, WEBHOOK_SSO_IDENTITY_LINKED, user_id=user_id, providerId=provider_id)


def sessions_ended_by_provider(ctx: Context, user_id: str, session_ids: Sequence[str]) -> None:
    """Record and publish that the identity provider of an organization has ended sessions of a user."""
    for session_id in session_ids:
        record(ctx, SESSION_REVOKED, user_id=user_id, session_id=session_id, reason="provider")
    publish_ended(ctx, EndReason.PROVIDER_SIGN_OUT, user_id, session_ids)


def session_created(ctx: Context, session_id: str, method: str) -> None:
    """Record that the caller got a new session because a password change has revoked the previous ones."""
    record(ctx, SESSION_CREATED, session_id=session_id, method=method)


def session_replaced(ctx: Context, user_id: str, session_id: str) -> None:
    """Record and publish that a new session of the same user, in the same browser, replaced this one."""
    record(ctx, SESSION_REVOKED, user_id=user_id, actor_id=user_id, session_id=session_id)
    publish_ended(ctx, EndReason.REPLACED, user_id, [session_id])


def session_revoked(
    ctx: Context, user_id: str, session_id: str, reason: EndReason = EndReason.REVOKED
) -> None:
    """Record and publish that a session was revoked.

    The caller or an administrator has revoked it, or with `EndReason.REPLACED` a new sign-in of the caller replaced it.
    """
    record(ctx, SESSION_REVOKED, session_id=session_id, user_id=user_id)
    publish_ended(ctx, reason, user_id, [session_id])


def sessions_evicted(ctx: Context, user_id: str, session_ids: Sequence[str]) -> None:
    """Record and publish that sessions of a user were revoked because a newer one exceeded the limit."""
    for session_id in session_ids:
        record(ctx, SESSION_REVOKED, user_id=user_id, session_id=session_id, reason="too many")
    publish_ended(ctx, EndReason.SESSION_LIMIT, user_id, session_ids)


def sessions_revoked_all(
    ctx: Context,
    user_id: str | None,
    ended: Sequence[str],
    reason: EndReason = EndReason.REVOKED,
    *,
    by_operator: bool = False,
) -> None:
    """Record and publish that all sessions of a user, or of every user (None), were revoked; `ended` are the ids of the
    active ones."""
    record(ctx, SESSION_REVOKED_ALL, user_id=user_id, by_operator=by_operator, sessions_ended=len(ended))
    publish_ended(ctx, reason, user_id, ended, is_all=True)


def sessions_revoked_others(ctx: Context, ended: Sequence[str]) -> None:
    """Record and publish that all sessions of the caller but the current one were revoked; `ended` are the ids of the
    active ones."""
    record(ctx, SESSION_REVOKED_OTHERS, sessions_ended=len(ended))
    publish_ended(ctx, EndReason.REVOKED, ctx.signed_in.user.id, ended)


def sessions_removed(ctx: Context, user_id: str, removed: Mapping[str, int]) -> None:
    """Publish a webhook event that all sessions of an account ended when its address was proven for the first time.

    `removed` has the number of removed credentials of each kind; without sessions nothing is published.
    """
    if removed.get("sessions"):
        _publish_ended(ctx, EndReason.UNPROVEN_ACCESS_REMOVED, user_id, (), is_all=True)
