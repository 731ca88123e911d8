"""Enrolling an authenticator: the secret that waits, the one that counts, the step between (behaviour 6.1)."""

from sqlalchemy import select, update
from sqlmodel import col

from domain.context import Context, StaleRead
from domain.trusted_devices import trusted_devices
from domain.two_factor import backup_codes, events, mails, totp
from domain.two_factor.errors import TotpNotEnabled, UndecipherableSecret
from models import TwoFactor, User

SECRET = "two_factor.secret"  # noqa: S105 - the name of a column
NEW_SECRET = "two_factor.new_secret"  # noqa: S105 - the name of a column
"""The purposes under which the secrets are encrypted."""


async def find(ctx: Context, user_id: str) -> TwoFactor | None:
    """Give what is stored of the user's second factor, as it is now; the user's row is locked before."""
    statement = select(TwoFactor).where(col(TwoFactor.user_id) == user_id)
    found = await ctx.db.execute(statement.execution_options(populate_existing=True))
    return found.scalar_one_or_none()


async def row_of(ctx: Context, user_id: str) -> TwoFactor:
    """Give the user's row, made if there is none; the user's row is locked before."""
    row = await find(ctx, user_id)
    if row is None:
        row = TwoFactor(user_id=user_id, created_at=ctx.now, updated_at=ctx.now)
        ctx.db.add(row)
        await ctx.db.flush()
    return row


def begin(ctx: Context, row: TwoFactor, issuer: str) -> str:
    """Make a secret that waits to be confirmed, in place of an older one that waits; give it in base32."""
    secret = totp.new_secret()
    if row.has_live_secret():  # defence: V48 live-secret
        row.new_secret, row.new_issuer = ctx.cipher.encrypt(NEW_SECRET, secret), issuer
    else:
        row.secret, row.issuer = ctx.cipher.encrypt(SECRET, secret), issuer
    row.updated_at = ctx.now
    return secret


def live_secret(ctx: Context, row: TwoFactor) -> str:
    """Give the secret that counts. Raises TotpNotEnabled, UndecipherableSecret."""
    if not row.has_live_secret():
        raise TotpNotEnabled
    return _decrypted(ctx, SECRET, row.secret)


def shown_secret(ctx: Context, row: TwoFactor) -> tuple[str, str]:
    """Give the secret that waits, otherwise the live one, and its issuer.

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
        raise UndecipherableSecret  # defence: R44 decryption
    return secret


async def confirm(ctx: Context, user: User, row: TwoFactor, secret: str) -> None:
    """Let the secret that waits count from now on, with the backup codes that wait beside it.

    What counted until now dies, trusted devices included. The replay guard begins empty: no session was opened.
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
    confirmed = confirmed.execution_options(synchronize_session=False)
    if (await ctx.db.execute(confirmed.returning(col(TwoFactor.user_id)))).first() is None:
        raise StaleRead  # The secret was encrypted anew, under a newer key, since it was read.
    await backup_codes.promote(ctx, user.id)  # defence: R18 one-transaction
    await trusted_devices.forget_all(ctx, user.id)  # defence: V52 authenticator-devices
    await switch_on(ctx, user, "totp")


async def confirm_by_mail(ctx: Context, user: User) -> None:
    """Switch on with codes by mail: the backup codes count, the secret goes on waiting."""
    await backup_codes.promote(ctx, user.id)
    await switch_on(ctx, user, "otp")


async def switch_on(ctx: Context, user: User, method: str) -> None:
    """Ask this user for a second factor from now on, and tell them. `method` is the one they have proven or chosen."""
    events.two_factor_enabled(ctx, user.id, method, was_on=user.two_factor_enabled)
    if not user.two_factor_enabled:
        user.two_factor_enabled, user.updated_at = True, ctx.now
        await mails.two_factor_changed(ctx, user, enabled=True)
