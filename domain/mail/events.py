"""Audit events about mail."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from models import Outcome

MAIL_FAILED = Event("mail.failed", N_("An email could not be delivered"), in_history=False)
MAIL_SENT_AGAIN = Event("mail.sent_again", N_("A failed email was sent again"), in_history=False)
MAIL_GIVEN_UP = Event("mail.given_up", N_("An email that waited was given up"), in_history=False)
MAIL_PREVIEW_SENT = Event("mail.preview_sent", N_("An email with example values was sent"), in_history=False)


def mail_failed(ctx: Context, user_id: str | None, mail_id: str, template: str, reason: str) -> None:
    """Record that an email could not be delivered. `reason` must contain no secret and no email address."""
    record(
        ctx,
        MAIL_FAILED,
        user_id=user_id,
        outcome=Outcome.FAILURE,
        mail=mail_id,
        template=template,
        reason=reason,
    )


def mail_sent_again(ctx: Context, user_id: str | None, mail_id: str, template: str) -> None:
    """Record that the caller queued a failed email again; `user_id` is that of the recipient, if it is a user."""
    record(ctx, MAIL_SENT_AGAIN, user_id=user_id, mail=mail_id, template=template)


def mail_given_up(ctx: Context, user_id: str | None, mail_id: str, template: str) -> None:
    """Record that the caller gave up an email that was waiting; `user_id` is that of the recipient, if it is a user."""
    record(ctx, MAIL_GIVEN_UP, user_id=user_id, mail=mail_id, template=template)


def mail_preview_sent(ctx: Context, template: str, language: str) -> None:
    """Record that the caller sent an email with example values to their own address."""
    record(ctx, MAIL_PREVIEW_SENT, template=template, language=language)
