"""Audit events of administration."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from domain.audit.record import Event, Refused, record
from domain.context import Context
from domain.localization import N_
from domain.passwords.events import publish_set
from domain.sessions.events import EndReason, publish_ended
from domain.users.events import user_role_published
from domain.webhooks.publication import EventType, optional_instant, publish
from models import Outcome
from models.base import to_milliseconds

ADMIN_REFUSED = Event(
    "admin.refused", N_("An action of an administrator was refused"), in_history=False, unbounded=True
)
SESSIONS_LISTED = Event("admin.sessions_listed", N_("An administrator listed the sessions"), in_history=False)
USER_ROLE_CHANGED = Event("user.role_changed", N_("The role was changed"), important=True)
USER_BANNED = Event("user.banned", N_("The account was blocked"), important=True)
USER_UNBANNED = Event("user.unbanned", N_("The account was unblocked"), important=True)
PASSWORD_SET_BY_ADMIN = Event(
    "password.set_by_admin", N_("An administrator set a new password"), important=True
)
USER_EXPORTED = Event(
    "user.exported", N_("An administrator downloaded the data of this account"), important=True
)
ADMIN_EXPORTED = Event(
    "admin.exported", N_("An administrator exported data"), in_history=False, important=True
)
USERS_SEARCHED = Event("admin.users_searched", N_("An administrator searched the users"), in_history=False)
IMPERSONATION_STARTED = Event(
    "impersonation.started", N_("An administrator began to act in the name of this account"), important=True
)
IMPERSONATION_STOPPED = Event(
    "impersonation.stopped", N_("An administrator stopped acting in the name of this account")
)
IMPERSONATION_ENDED = Event(
    "impersonation.ended", N_("A session of an administrator in the name of this account was ended")
)

WEBHOOK_BANNED = EventType("user.banned")
WEBHOOK_UNBANNED = EventType("user.unbanned")


def refused(ctx: Context, refusal: Refused) -> None:
    """Record that the caller lacked a permission: one of an operation of administration, or one that the user has."""
    record(ctx, ADMIN_REFUSED, outcome=Outcome.REFUSED, refusal=refusal)


def sessions_listed(ctx: Context, user_id: str) -> None:
    """Record that the caller listed the sessions of a user."""
    record(ctx, SESSIONS_LISTED, user_id=user_id)


def users_searched(ctx: Context) -> None:
    """Record that the caller read pages of users; call it once per minute."""
    record(ctx, USERS_SEARCHED)


def exported(ctx: Context, what: str, filters: Mapping[str, str], *, rows: int, is_complete: bool) -> None:
    """Record that the caller received `rows` rows of the export `what`. `filters` are those of the request, without
    email addresses."""
    record(ctx, ADMIN_EXPORTED, export=what, filters=dict(filters), rows=rows, complete=is_complete)


def user_role_changed(ctx: Context, user_id: str, old: str, new: str) -> None:
    """Record that the roles of a user were replaced."""
    record(ctx, USER_ROLE_CHANGED, user_id=user_id, by_operator=ctx.is_operator, old=old, new=new)
    user_role_published(ctx, user_id)


def user_banned(ctx: Context, user_id: str, reason: str | None, until: datetime | None) -> None:
    """Record and publish that a user was banned until a time, or permanently (None)."""
    end = None if until is None else to_milliseconds(until)
    record(ctx, USER_BANNED, user_id=user_id, by_operator=ctx.is_operator, reason=reason, until=end)
    publish(ctx, WEBHOOK_BANNED, user_id=user_id, until=optional_instant(until))


def user_unbanned(ctx: Context, user_id: str) -> None:
    """Record and publish that the ban of a user was lifted."""
    record(ctx, USER_UNBANNED, user_id=user_id, by_operator=ctx.is_operator)
    publish(ctx, WEBHOOK_UNBANNED, user_id=user_id)


def password_set_by_admin(ctx: Context, user_id: str, ended: Sequence[str]) -> None:
    """Record and publish that the password of a user was set; `ended` are the ids of the active sessions that this has
    ended."""
    by_operator = ctx.is_operator
    record(ctx, PASSWORD_SET_BY_ADMIN, user_id=user_id, by_operator=by_operator, sessions_ended=len(ended))
    publish_set(ctx, user_id, ended)


def user_exported(ctx: Context, user_id: str) -> None:
    """Record that the caller read all stored data about a user."""
    record(ctx, USER_EXPORTED, user_id=user_id)


def impersonation_started(ctx: Context, user_id: str, session_id: str, expires_at: datetime) -> None:
    """Record that the caller opened a session in the name of a user, which ends at `expires_at`."""
    record(
        ctx,
        IMPERSONATION_STARTED,
        user_id=user_id,
        session_id=session_id,
        expires_at=to_milliseconds(expires_at),
    )


def impersonation_stopped(ctx: Context) -> None:
    """Record and publish that the caller, an administrator, ended their session in the name of a user."""
    record(ctx, IMPERSONATION_STOPPED)
    caller = ctx.signed_in
    publish_ended(ctx, EndReason.IMPERSONATION_ENDED, caller.user.id, [caller.session.id])


def impersonation_ended(
    ctx: Context,
    *,
    user_id: str,
    impersonator_id: str,
    session_id: str,
    reason: str,
    by_operator: bool = False,
) -> None:
    """Record and publish that a session in the name of a user was ended, but not by the administrator who opened it;
    `reason` says why."""
    record(
        ctx,
        IMPERSONATION_ENDED,
        user_id=user_id,
        actor_id=None if by_operator or ctx.caller is not None else impersonator_id,
        session_id=session_id,
        by_operator=by_operator,
        reason=reason,
        impersonator=impersonator_id,
    )
    publish_ended(ctx, EndReason.IMPERSONATION_ENDED, user_id, [session_id])
