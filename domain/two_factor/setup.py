"""Enable and disable the second factor."""

from dataclasses import dataclass, field

from sqlalchemy import delete
from sqlmodel import col

from domain import one_time_tokens
from domain.context import Context
from domain.passwords import passwords
from domain.trusted_devices import trusted_devices
from domain.two_factor import backup_codes, enrolment, events, mails, totp
from domain.two_factor.errors import OtpNotConfigured, TotpNotEnabled, TwoFactorNotEnabled
from domain.two_factor.policy import TwoFactorPolicy
from domain.users import profile
from domain.users.errors import EmailNotVerified
from models import Purpose, TwoFactor
from models.user import UserRow


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The values that are shown to the user: the URI for an authenticator (None for email codes), and backup codes."""

    totp_uri: str | None = field(repr=False)
    backup_codes: list[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SecondFactorState:
    """The caller's second-factor settings."""

    is_enabled: bool
    """Whether a sign-in requires a second factor."""
    has_authenticator: bool
    """Whether codes of an authenticator are accepted."""
    is_enrolling: bool
    """Whether an authenticator is being set up and has not been confirmed by a code."""
    backup_codes: int
    """The number of unused backup codes."""


async def get_state(ctx: Context) -> SecondFactorState:
    """Return the caller's second-factor settings."""
    user = ctx.signed_in.user
    row = await enrolment.find(ctx, user.id)
    return SecondFactorState(
        is_enabled=user.two_factor_enabled,
        has_authenticator=row is not None and row.has_live_secret(),
        is_enrolling=row is not None and row.is_enrolling(),
        backup_codes=await backup_codes.count(ctx, user.id),
    )


async def enable_totp(ctx: Context, password: str, issuer: str | None) -> Enrolled:
    """Begin the enrolment of an authenticator, in place of a pending enrolment; return its URI and new backup codes.

    The present second factor stays valid until the first code confirms the new one. `issuer` is the name in the app;
    None for the configured name.

    Raises InvalidPassword, Limited, Overloaded.
    """
    stored = await passwords.check(ctx, password)  # defence: V49 totp-password
    prepared = await backup_codes.prepare(ctx)
    user = await passwords.lock_caller(ctx, stored)  # defence: V49 totp-caller
    shown_by = issuer or ctx.policy[TwoFactorPolicy].issuer
    secret = await enrolment.begin(ctx, await enrolment.row_of(ctx, user.id), shown_by)
    await backup_codes.discard_waiting(ctx, user.id)
    backup_codes.store(ctx, user, prepared, live=False)  # defence: V48 waiting-codes
    events.enrolment_started(ctx, user.id)  # defence: V48 confirmation
    return Enrolled(totp.uri(shown_by, user.email, secret), prepared.shown)


async def enable_otp(ctx: Context, password: str) -> Enrolled:
    """Enable email codes immediately. New backup codes replace existing ones; an authenticator secret is unchanged.

    Raises InvalidPassword, Limited, OtpNotConfigured, EmailNotVerified, Overloaded.
    """
    stored = await passwords.check(ctx, password)
    if not ctx.policy[TwoFactorPolicy].otp_available:
        raise OtpNotConfigured
    # Codes would go to a mailbox that the user may not own.
    if not ctx.signed_in.user.email_verified:  # defence: V32 otp-verified
        raise EmailNotVerified
    # As in `regenerate_backup_codes`: no password or code is hashed while the user is locked.
    prepared = await backup_codes.prepare(ctx)
    user = await passwords.lock_caller(ctx, stored)
    if not user.email_verified:  # defence: V32 otp-still-verified
        raise EmailNotVerified  # The email address was changed after the caller was read.
    await enrolment.row_of(ctx, user.id)
    await _replace_codes(ctx, user, prepared)
    await enrolment.switch_on(ctx, user, events.OTP.name)
    return Enrolled(None, prepared.shown)


async def disable(ctx: Context, password: str) -> None:
    """Disable the second factor of the caller and delete any pending enrolment.

    Raises InvalidPassword, Limited, Overloaded.
    """
    stored = await passwords.check(ctx, password)  # defence: V49 disable-password
    user = await passwords.lock_caller(ctx, stored)  # defence: V49 disable-caller
    if await remove(ctx, user):
        events.two_factor_disabled(ctx, user.id)


async def remove(ctx: Context, user: UserRow) -> bool:
    """Disable the second factor of a locked user and delete its data, trusted devices and pending sign-ins.

    Return whether it was enabled; then the user is notified by email.
    """
    await ctx.db.execute(delete(TwoFactor).where(col(TwoFactor.user_id) == user.id))
    await backup_codes.discard(ctx, user.id)  # defence: V53 delete-codes
    await trusted_devices.forget_all(ctx, user.id)  # defence: V52 disable-devices
    await one_time_tokens.revoke(ctx, user.id, Purpose.CHALLENGE, Purpose.MAIL_CODE)
    was_on = user.two_factor_enabled
    if was_on:
        user = await profile.change(ctx, user, two_factor_enabled=False)
        await mails.two_factor_changed(ctx, user, enabled=False)
    return was_on


async def get_totp_uri(ctx: Context, password: str) -> str:
    """Return the URI for an authenticator: of the pending enrolment, or of the active secret if none is pending.

    Raises InvalidPassword, Limited, TotpNotEnabled, UndecipherableSecret, Overloaded.
    """
    stored = await passwords.check(ctx, password)  # defence: V49 uri-password
    user = await passwords.lock_caller(ctx, stored)  # defence: V49 uri-caller
    row = await enrolment.find(ctx, user.id)
    if row is None:
        raise TotpNotEnabled
    secret, issuer = enrolment.shown_secret(ctx, row)
    return totp.uri(issuer, user.email, secret)


async def regenerate_backup_codes(ctx: Context, password: str) -> list[str]:
    """Replace all backup codes of the caller; return the new ones.

    Raises InvalidPassword, Limited, TwoFactorNotEnabled, Overloaded.
    """
    stored = await passwords.check(ctx, password)  # defence: V49 codes-password
    if not ctx.signed_in.user.two_factor_enabled:  # defence: V49 codes-enabled
        raise TwoFactorNotEnabled
    # Hash the codes before `lock_caller` begins the transaction, so that no lock is held meanwhile.
    prepared = await backup_codes.prepare(ctx)
    user = await passwords.lock_caller(ctx, stored)  # defence: V49 codes-caller
    if not user.two_factor_enabled:
        raise TwoFactorNotEnabled  # The second factor was disabled after the caller was read.
    await _replace_codes(ctx, user, prepared)
    return prepared.shown


async def _replace_codes(ctx: Context, user: UserRow, prepared: backup_codes.NewSet) -> None:
    await backup_codes.discard(ctx, user.id)  # defence: V53 discard-codes
    backup_codes.store(ctx, user, prepared, live=True)
    events.backup_codes_generated(ctx, user.id, len(prepared.shown))
