"""What an administrator does with an email in the outbox: send it again, or give it up."""

from datetime import datetime

from sqlalchemy import bindparam, or_, select, update
from sqlmodel import col

from domain.context import Context
from domain.mail import events, outbox
from domain.mail.errors import MailBeingSent, MailExpired, MailNotFailed, MailNotFound, MailNotWaiting
from domain.mail.policy import MailPolicy
from models import MailState, Outbox
from models.base import Instant

GIVEN_UP = "given up by an administrator"
"""The stored `last_error` of an email that was given up."""

_ROW = select(
    *(col(getattr(Outbox, name)) for name in ("state", "template", "user_id", "payload", "attempts"))
).where(col(Outbox.id) == bindparam("id"))
_SEND_AGAIN = (
    update(Outbox)
    .where(col(Outbox.id) == bindparam("mail_id"), col(Outbox.state) == MailState.FAILED)
    .values(lease_until=None, last_error=None)
    .returning(col(Outbox.id))
)
_GIVE_UP = (
    update(Outbox)
    .where(
        col(Outbox.id) == bindparam("mail_id"),
        col(Outbox.state).in_(outbox.WAITING),
        or_(col(Outbox.lease_until).is_(None), col(Outbox.lease_until) <= bindparam("at", type_=Instant())),
    )
    .values(state=MailState.FAILED, last_error=GIVEN_UP)
    .returning(col(Outbox.id))
)


async def send_again(ctx: Context, mail_id: str) -> None:
    """Queue a failed email again; it is tried for `mail.retry_for`, or until its link or code expires if sooner.

    Of simultaneous calls one succeeds. Raises MailNotFound, MailNotFailed, MailExpired.
    """
    row = (await ctx.db.execute(_ROW, id=mail_id)).first()
    if row is None:
        raise MailNotFound
    if row.state != MailState.FAILED:
        raise MailNotFailed
    payload = outbox.opened(ctx, row.payload)
    if payload is None or not outbox.can_be_sent_again(payload, ctx.now):
        raise MailExpired
    until = ctx.now + ctx.policy[MailPolicy].retry_for
    if expires := payload.get("expires"):
        until = min(until, datetime.fromisoformat(expires))
    state = MailState.QUEUED if "to" in payload else MailState.UNRESOLVED
    # The number of attempts goes on, so that a late result of an earlier one has no effect.
    queued = {"state": state, "next_attempt": ctx.now, "expires_at": until, "updated_at": ctx.now}
    # defence: C8 failed-only
    if not await ctx.db.execute(_SEND_AGAIN, mail_id=mail_id, attempts=row.attempts + 1, **queued):
        raise MailNotFailed
    events.mail_sent_again(ctx, row.user_id, mail_id, row.template)


async def give_up(ctx: Context, mail_id: str) -> None:
    """Mark a waiting email as failed, so that it is not sent. Raises MailNotFound, MailNotWaiting, MailBeingSent."""
    row = (await ctx.db.execute(_ROW, id=mail_id)).first()
    if row is None:
        raise MailNotFound
    if row.state not in outbox.WAITING:
        raise MailNotWaiting
    # defence: C8 no-lease
    if not await ctx.db.execute(_GIVE_UP, mail_id=mail_id, at=ctx.now, updated_at=ctx.now):
        raise MailBeingSent
    events.mail_given_up(ctx, row.user_id, mail_id, row.template)
