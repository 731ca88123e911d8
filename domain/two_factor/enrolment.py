"""Enrolment of an authenticator: create a pending secret, and make it the active secret."""

from sqlalchemy import update
from sqlmodel import col

from domain.context import Context, StaleRead
from domain.trusted_devices import trusted_devices
from domain.two_factor import backup_codes, events, mails, totp
from domain.two_factor.errors import TotpNotEnabled, UndecipherableSecret
from domain.users import profile
from models import TwoFactor
from models.two_factor import TWO_FACTOR_OF_USER, TwoFactorRow
from models.user import UserRow

SECRET = "two_factor.secret"  # noqa: S105 - the name of a column
NEW_SECRET = "two_factor.new_secret"  # noqa: S105 - the name of a column
"""The purposes under which the active and the pending secret are encrypted."""


async def find(ctx: Context, user_id: str) -> TwoFactorRow | None:
    """Return the stored second factor of a user; None if there is none."""
    row: TwoFactorRow | None = (await ctx.db.execute(TWO_FACTOR_OF_USER, user_id=user_id)).first()
    return row


async def row_of(ctx: Context, user_id: str) -> TwoFactorRow:
    """Return the second factor of a user whose row is locked; create it if there is none."""
    row = await find(ctx, user_id)
    if row is None:
        made = TwoFactor(user_id=user_id, created_at=ctx.now, updated_at=ctx.now)
        ctx.db.add(made)
        row = TwoFactorRow(*(getattr(made, name) for name in TwoFactorRow._fields))
    return row


async def begin(ctx: Context, row: TwoFactorRow, issuer: str) -> str:
    """Store a new pending secret in place of an older one; return it in base32. An active secret stays valid."""
    secret = totp.new_secret()
    # The live secret stays valid until the new one is confirmed, so an abandoned enrolment does not lock the user out.
    if row.has_live_secret():  # defence: V48 live-secret
        changes = {"new_secret": ctx.cipher.encrypt(NEW_SECRET, secret), "new_issuer": issuer}
    else:
        changes = {"secret": ctx.cipher.encrypt(SECRET, secret), "issuer": issuer}
    own = update(TwoFactor).where(col(TwoFactor.user_id) == row.user_id)
    await ctx.db.execute(own.values(**changes, updated_at=ctx.now))
    return secret


def live_secret(ctx: Context, row: TwoFactorRow) -> str:
    """Return the active secret. Raises TotpNotEnabled, UndecipherableSecret."""
    if not row.has_live_secret():
        raise TotpNotEnabled
    return _decrypted(ctx, SECRET, row.secret)


def shown_secret(ctx: Context, row: TwoFactorRow) -> tuple[str, str]:
    """Return the pending secret and its issuer, or those of the active secret if none is pending.

    Raises TotpNotEnabled, UndecipherableSecret.
    """
    if row.new_secret is not None:
        return _decrypted(ctx, NEW_SECRET, row.new_secret), row.new_issuer or ""
    return _decrypted(ctx, SECRET, row.secret), row.issuer or ""


def _decrypted(ctx: Context, purpose: str, ciphertext: bytes | None) -> str:
    if ciphertext is None:
        raise TotpNotEnabled
    secret = ctx.cipher.decrypt(purpose, ciphertext)
    if secret is None:
        # A secret that cannot be decrypted is a fault of the operator, and must not look like a wrong code.
        raise UndecipherableSecret  # defence: R44 decryption
    return secret


async def confirm(ctx: Context, user: UserRow, row: TwoFactorRow, secret: str) -> UserRow:
    """Activate the pending secret and the pending backup codes; return the updated user.

    The previous secret, backup codes and trusted devices are deleted. The code that confirms the secret can be used
    once more, because it has opened no session.
    """
    if row.new_secret is None:
        waiting = (col(TwoFactor.secret) == row.secret) & ~col(TwoFactor.confirmed)
        changes: dict[str, object] = {}
    else:
        waiting = (col(TwoFactor.new_secret) == row.new_secret) & col(TwoFactor.confirmed)
        ciphertext = ctx.cipher.encrypt(SECRET, secret)
        changes = {"secret": ciphertext, "issuer": row.new_issuer, "new_secret": None, "new_issuer": None}
    confirmed = update(TwoFactor).where(col(TwoFactor.user_id) == user.id, waiting)
    confirmed = confirmed.values(confirmed=True, last_step=None, updated_at=ctx.now, **changes)
    if (await ctx.db.execute(confirmed.returning(col(TwoFactor.user_id)))).first() is None:
        raise StaleRead  # The secret was encrypted again under a newer key after it was read.
    await backup_codes.promote(ctx, user.id)  # defence: R18 one-transaction
    await trusted_devices.forget_all(ctx, user.id)  # defence: V52 authenticator-devices
    return await switch_on(ctx, user, events.TOTP.name)


async def confirm_by_mail(ctx: Context, user: UserRow) -> UserRow:
    """Enable email codes: the backup codes become active, the secret stays pending. Return the updated user."""
    await backup_codes.promote(ctx, user.id)
    return await switch_on(ctx, user, events.OTP.name)


async def switch_on(ctx: Context, user: UserRow, method: str) -> UserRow:
    """Require a second factor from this user from now on; return the updated user, who is notified by email.

    A user with a second factor is returned unchanged. `method` is the enabled method, for the audit record.
    """
    events.two_factor_enabled(ctx, user.id, method, was_on=user.two_factor_enabled)
    if user.two_factor_enabled:
        return user
    user = await profile.change(ctx, user, two_factor_enabled=True)
    await mails.two_factor_changed(ctx, user, enabled=True)
    return user
