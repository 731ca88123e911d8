"""Descriptions of audit events for the account history: a sentence for each event that concerns users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.audit.history import HistoryRecord
from domain.context import Context
from domain.localization import N_, Localization
from handlers.account_pages import user_agents
from handlers.pages import ways_in
from models import Outcome

SHOWN: Mapping[str, str] = {
    "account.linked": N_("An account of a provider was connected"),
    "account.unlinked": N_("A connected account, or the password, was removed"),
    "api_key.created": N_("An API key was created"),
    "api_key.updated": N_("An API key was changed"),
    "api_key.deleted": N_("An API key was deleted"),
    "api_key.disabled": N_("An API key was switched off"),
    "backup_code.used": N_("A backup code was used"),
    "backup_codes.generated": N_("New backup codes were made"),
    "email.change_requested": N_("A change of the email address was requested"),
    "email.changed": N_("The email address was changed"),
    "email.verification_requested": N_("A link to verify the email address was requested"),
    "email.verified": N_("The email address was verified"),
    "email_code.requested": N_("A code by email was requested"),
    "email_code.failed": N_("A wrong code from an email was entered"),
    "email_code.exhausted": N_("A code from an email was tried too often"),
    "impersonation.started": N_("An administrator began to act in your name"),
    "impersonation.stopped": N_("An administrator stopped acting in your name"),
    "impersonation.ended": N_("A session of an administrator in your name was ended"),
    "magic_link.requested": N_("A link to sign in was requested"),
    "magic_link.refused": N_("A link to sign in was not accepted"),
    "passkey.registered": N_("A passkey was added"),
    "passkey.renamed": N_("A passkey was renamed"),
    "passkey.removed": N_("A passkey was removed"),
    "passkey.failed": N_("A sign-in with a passkey failed"),
    "passkey.registration_failed": N_("A passkey could not be added"),
    "passkey.counter_regressed": N_("A copy of a passkey may have been used"),
    "password.changed": N_("The password was changed"),
    "password.check_failed": N_("A wrong password was entered while signed in"),
    "password.set_by_admin": N_("An administrator set a new password"),
    "password_reset.requested": N_("A link to reset the password was requested"),
    "password_reset.completed": N_("The password was reset with a link from an email"),
    "password_reset.failed": N_("A link to reset the password was not accepted"),
    "session.created": N_("A new session was opened after the password was changed"),
    "session.revoked": N_("A session was ended"),
    "session.revoked_all": N_("All sessions were ended"),
    "session.revoked_others": N_("All other sessions were ended"),
    "sign_in.succeeded": N_("Signed in"),
    "sign_in.pending": N_("A sign-in asked for the second factor"),
    "sign_in.failed": N_("A sign-in failed"),
    "sign_in.banned": N_("A sign-in was refused, because the account is blocked"),
    "sign_out": N_("Signed out"),
    "trusted_device.added": N_("A device was trusted"),
    "trusted_device.used": N_("A trusted device skipped the second factor"),
    "trusted_device.removed": N_("A trusted device was removed"),
    "two_factor.enrolment_started": N_("Setting up two-factor authentication was begun"),
    "two_factor.enabled": N_("Two-factor authentication was turned on"),
    "two_factor.disabled": N_("Two-factor authentication was turned off"),
    "two_factor.verified": N_("A code of the second factor was accepted"),
    "two_factor.failed": N_("A code of the second factor was not accepted"),
    "two_factor.locked": N_("The second factor was locked after too many wrong codes"),
    "two_factor.otp_requested": N_("A code for the second factor was sent by email"),
    "user.banned": N_("The account was blocked"),
    "user.unbanned": N_("The account was unblocked"),
    "user.created": N_("The account was created"),
    "user.deletion_requested": N_("A link to delete the account was requested"),
    "user.role_changed": N_("The role was changed"),
    "user.unproven_access_removed": N_("Access from before the email address was verified was removed"),
    "user.updated": N_("The profile was changed"),
}
"""The events that the history shows, by name."""

LEFT_OUT = frozenset(
    {
        "account.link_refused",
        "admin.refused",
        "admin.sessions_listed",
        "api_key.refused",
        "limit.reached",
        "mail.failed",
        "oauth_state.refused",
        "origin.refused",
        "password.rehashed",
        "provider_token.failed",
        "provider_token.read",
        "provider_token.refreshed",
        "redirect.refused",
        "secrets.rewritten",
        "service.started",
        "signing_key.activated",
        "signing_key.created",
        "signing_key.retired",
        "signing_key.revoked",
        "user.deleted",
        "user.disowned",
    }
)
"""The events that the history does not show: they are internal, or do not concern a user."""

_REFUSED: Mapping[str, str] = {
    "account.unlinked": N_("A connected account could not be removed"),
    "email.change_requested": N_("A change to an email address that is taken was requested"),
    "user.created": N_("Someone tried to sign up with your email address"),
}
"""The sentences for failed events whose sentence in `SHOWN` describes a success."""

_METHODS: Mapping[str, str] = {
    "api_key": N_("API key"),
    "backup_code": N_("Backup code"),
    "email_code": N_("Code by email"),
    "email_otp": N_("Code by email"),
    "magic_link": N_("Link by email"),
    "otp": N_("Code by email"),
    "password": N_("Password"),
    "totp": N_("Authenticator"),
    "trusted_device": N_("Trusted device"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the history, in the language of the page."""

    time: datetime
    sentence: str
    method: str | None
    """The method of authentication, or the provider that the event is about."""
    is_failure: bool
    by_other: bool
    """Whether an administrator or the operator did it; their network and device are not shown."""
    address: str | None
    device: str | None
    """The browser and its system, in words."""


def entries(ctx: Context, localization: Localization, records: Sequence[HistoryRecord]) -> Sequence[Entry]:
    """Return the lines for audit records of the caller whose events are in SHOWN."""
    return [_entry(ctx, localization, record) for record in records]


def _entry(ctx: Context, localization: Localization, record: HistoryRecord) -> Entry:
    is_failure = record.outcome != Outcome.SUCCESS
    by_other = record.actor_id not in (None, ctx.signed_in.user.id) or record.details.get("by") == "operator"
    sentence = _REFUSED.get(record.event) if is_failure else None
    return Entry(
        time=record.time,
        sentence=localization.gettext(sentence or SHOWN[record.event]),
        method=_method(localization, record),
        is_failure=is_failure,
        by_other=by_other,
        address=None if by_other else record.address,
        device=user_agents.describe(localization, record.user_agent)
        if record.user_agent and not by_other
        else None,
    )


def _method(localization: Localization, record: HistoryRecord) -> str | None:
    name = record.method or record.details.get("provider")
    if not name:
        return None
    return localization.gettext(_METHODS[name]) if name in _METHODS else ways_in.provider_name(str(name))
