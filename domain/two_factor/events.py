"""Audit events of the second factor."""

from domain.audit.record import Event, Refused, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from domain.sessions.events import publish_failed
from domain.webhooks.publication import EventType, publish
from models import Outcome

TWO_FACTOR_ENROLMENT_STARTED = Event(
    "two_factor.enrolment_started", N_("Setting up two-factor authentication was begun")
)
TWO_FACTOR_ENABLED = Event("two_factor.enabled", N_("Two-factor authentication was turned on"))
TWO_FACTOR_DISABLED = Event("two_factor.disabled", N_("Two-factor authentication was turned off"))
TWO_FACTOR_VERIFIED = Event("two_factor.verified", N_("A code of the second factor was accepted"))
TWO_FACTOR_FAILED = Event("two_factor.failed", N_("A code of the second factor was not accepted"))
TWO_FACTOR_LOCKED = Event(
    "two_factor.locked", N_("The second factor was locked after too many wrong codes"), important=True
)
TWO_FACTOR_OTP_REQUESTED = Event(
    "two_factor.otp_requested", N_("A code for the second factor was sent by email")
)
BACKUP_CODES_GENERATED = Event("backup_codes.generated", N_("New backup codes were made"))
BACKUP_CODE_USED = Event("backup_code.used", N_("A backup code was used"))

_AMR = "pwd otp mfa"
TOTP = AuthenticationMethod("totp", N_("Authenticator"), _AMR)
OTP = AuthenticationMethod("otp", N_("Code by email"), _AMR)
BACKUP_CODE = AuthenticationMethod("backup_code", N_("Backup code"), _AMR)

WEBHOOK_ENABLED = EventType("two_factor.enabled")
WEBHOOK_DISABLED = EventType("two_factor.disabled")
WEBHOOK_LOCKED = EventType("two_factor.locked")


def enrolment_started(ctx: Context, user_id: str) -> None:
    """Record that an enrolment was started: a pending secret and backup codes."""
    record(ctx, TWO_FACTOR_ENROLMENT_STARTED, user_id=user_id, method=TOTP.name)


def two_factor_enabled(ctx: Context, user_id: str, method: str, *, was_on: bool) -> None:
    """Record and publish that a method of the second factor was enabled; `was_on` if the factor was on before."""
    record(ctx, TWO_FACTOR_ENABLED, user_id=user_id, method=method, was_on=was_on)
    publish(ctx, WEBHOOK_ENABLED, user_id=user_id, method=method)


def two_factor_disabled(ctx: Context, user_id: str, *, by_operator: bool = False) -> None:
    """Record and publish that the second factor was disabled."""
    record(ctx, TWO_FACTOR_DISABLED, user_id=user_id, by_operator=by_operator)
    publish(ctx, WEBHOOK_DISABLED, user_id=user_id, method=None)


def two_factor_verified(ctx: Context, user_id: str, method: str) -> None:
    """Record that a code of the second factor was valid; `method` is the kind of code."""
    record(ctx, TWO_FACTOR_VERIFIED, user_id=user_id, actor_id=user_id, method=method)


def two_factor_failed(ctx: Context, user_id: str, method: str, refusal: Refused) -> None:
    """Record that a code of the second factor was wrong or had expired; publish it if it was for a sign-in."""
    record(
        ctx,
        TWO_FACTOR_FAILED,
        user_id=user_id,
        method=method,
        outcome=Outcome.FAILURE,
        refusal=refusal,
    )
    _publish_failed(ctx, user_id, method, refusal)


def two_factor_refused(ctx: Context, user_id: str, refusal: Refused) -> None:
    """Record that a code was refused unchecked, because the second factor is locked or no attempt is left.

    Publish it if the code was for a sign-in.
    """
    record(ctx, TWO_FACTOR_FAILED, user_id=user_id, outcome=Outcome.REFUSED, refusal=refusal)
    _publish_failed(ctx, user_id, None, refusal)


def _publish_failed(ctx: Context, user_id: str, method: str | None, refusal: Refused) -> None:
    # A code sent with a session is no sign-in.
    if ctx.challenge is not None:
        publish_failed(ctx, user_id, method, refusal.code)


def two_factor_locked(ctx: Context, user_id: str, method: str) -> None:
    """Record and publish that the second factor was locked after too many wrong codes; `method` is that of the last
    code."""
    record(ctx, TWO_FACTOR_LOCKED, user_id=user_id)
    publish(ctx, WEBHOOK_LOCKED, user_id=user_id, method=method)


def otp_requested(ctx: Context, user_id: str) -> None:
    """Record that an email code was requested."""
    record(ctx, TWO_FACTOR_OTP_REQUESTED, user_id=user_id, method=OTP.name)


def backup_codes_generated(ctx: Context, user_id: str, codes: int) -> None:
    """Record that all backup codes were replaced; `codes` is the number of new ones."""
    record(ctx, BACKUP_CODES_GENERATED, user_id=user_id, codes=codes)


def backup_code_used(ctx: Context, user_id: str) -> None:
    """Record that a backup code was used."""
    record(ctx, BACKUP_CODE_USED, user_id=user_id, actor_id=user_id, method=BACKUP_CODE.name)
