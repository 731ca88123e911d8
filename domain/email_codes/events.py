"""Audit events of email codes."""

from domain.audit.record import Event, Refused, hints, record, record_request
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from domain.sessions.events import publish_failed
from models import Outcome
from models.user import UserRow

EMAIL_CODE_REQUESTED = Event("email_code.requested", N_("A code by email was requested"))
EMAIL_CODE_FAILED = Event("email_code.failed", N_("A wrong code from an email was entered"), unbounded=True)
EMAIL_CODE_EXHAUSTED = Event("email_code.exhausted", N_("A code from an email was tried too often"))

EMAIL_CODE = AuthenticationMethod("email_otp", N_("Code by email"), amr="mca")

_SIGN_IN = "sign-in"
"""The type of the codes that sign in."""


def code_requested(
    ctx: Context, user: UserRow | None, email: str, code_type: str, reason: str | None
) -> None:
    """Record that a code was requested; a `reason` says why none was sent."""
    record_request(ctx, EMAIL_CODE_REQUESTED, user, email, reason, type=code_type)


def code_failed(ctx: Context, user_id: str | None, email: str, code_type: str, refusal: Refused) -> None:
    """Record that a code was wrong, unknown or expired; `refusal` is the error of the response."""
    _refused(ctx, EMAIL_CODE_FAILED, user_id, email, code_type, refusal, Outcome.FAILURE)


def code_exhausted(ctx: Context, user_id: str | None, email: str, code_type: str, refusal: Refused) -> None:
    """Record that the attempts of a code were used up; `refusal` is the error of the response."""
    _refused(ctx, EMAIL_CODE_EXHAUSTED, user_id, email, code_type, refusal, Outcome.REFUSED)


def _refused(
    ctx: Context,
    event: Event,
    user_id: str | None,
    email: str,
    code_type: str,
    refusal: Refused,
    outcome: Outcome,
) -> None:
    hint = hints(ctx, email)[0] if user_id is None else None
    record(ctx, event, user_id=user_id, hint=hint, outcome=outcome, refusal=refusal, type=code_type)
    # For an address without a user, too: otherwise the time of a refusal would show who has an account.
    if code_type == _SIGN_IN:
        publish_failed(ctx, user_id, EMAIL_CODE.name, refusal.code)
