"""Audit events about mail."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from models import Outcome

MAIL_FAILED = Event("mail.failed", N_("An email could not be delivered"), in_history=False)


def mail_failed(ctx: Context, user_id: str | None, mail_id: str, template: str, reason: str) -> None:
    """An email could not be delivered. `reason` contains no secret and no email address."""
    record(
        ctx,
        MAIL_FAILED,
        user_id=user_id,
        outcome=Outcome.FAILURE,
        mail=mail_id,
        template=template,
        reason=reason,
    )
