"""The operations of openapi/paths/two_factor.yaml.

The second factor: authenticator app, email codes and backup codes.
"""

from domain.context import Context
from domain.two_factor import setup, verification
from domain.two_factor.verification import Verified
from handlers import shapes, wire
from handlers.responses.reply import Reply
from handlers.responses.sessions import clear_trusted_device_cookie, replacing_response, session_body
from models.session import SessionRow
from models.user import UserRow


# two_factor.enable
async def enable(ctx: Context, body: shapes.EnableTwoFactorRequest) -> shapes.TwoFactorEnabled:
    """Begin to enable the second factor."""
    method = body.get("method", "totp")
    if method == "otp":
        enrolled = await setup.enable_otp(ctx, body["password"])
    else:
        enrolled = await setup.enable_totp(ctx, body["password"], body.get("issuer"))
    return {"method": method, "totpURI": enrolled.totp_uri, "backupCodes": enrolled.backup_codes}


# two_factor.disable
async def disable(ctx: Context, body: shapes.DisableTwoFactorRequest) -> Reply[shapes.Status]:
    """Disable the second factor."""
    await setup.disable(ctx, body["password"])
    return clear_trusted_device_cookie(ctx, Reply({"status": True}))


# two_factor.get_totp_uri
async def get_totp_uri(ctx: Context, body: shapes.GetTotpUriRequest) -> shapes.TotpUri:
    """Return the URI with which an authenticator app is set up."""
    return {"totpURI": await setup.get_totp_uri(ctx, body["password"])}


# two_factor.verify_totp
async def verify_totp(ctx: Context, body: shapes.VerifyTotpRequest) -> Reply[shapes.TotpVerified]:
    """Check a code of an authenticator app."""
    verified = await verification.verify_totp(
        ctx, body["code"], trust_device=wire.flag(body.get("trustDevice"))
    )
    user = wire.reduced_user(verified.user)
    if verified.opened is None:
        return Reply({"status": True, "token": ctx.signed_in.token, "user": user})
    return await replacing_response(
        ctx, verified.opened, {"status": True, "token": verified.opened.token, "user": user}
    )


# two_factor.send_otp
async def send_otp(ctx: Context, body: shapes.EmptyRequest) -> shapes.Status:
    """Send a code by email."""
    await verification.send_otp(ctx)
    # Never the code itself: it proves the mailbox only if it can be read nowhere else.
    return {"status": True}  # defence: V25 otp-answer


# two_factor.verify_otp
async def verify_otp(ctx: Context, body: shapes.VerifyOtpRequest) -> Reply[shapes.OtpVerified]:
    """Check a code that was sent by email."""
    verified = await verification.verify_otp(
        ctx, body["code"], trust_device=wire.flag(body.get("trustDevice"))
    )
    user = wire.reduced_user(verified.user)
    if verified.opened is None:
        return Reply({"token": ctx.signed_in.token, "user": user})
    return await replacing_response(ctx, verified.opened, {"token": verified.opened.token, "user": user})


# two_factor.verify_backup_code
async def verify_backup_code(
    ctx: Context, body: shapes.VerifyBackupCodeRequest
) -> Reply[shapes.BackupCodeVerified]:
    """Check a backup code, and use it up."""
    trust_device = wire.flag(body.get("trustDevice"))
    verified = await verification.verify_backup_code(ctx, body["code"], trust_device=trust_device)
    shape = _with_session(ctx, verified)
    if verified.opened is None:
        return Reply(shape)
    if wire.flag(body.get("disableSession")):
        return session_body(ctx, verified.opened, shape)
    return await replacing_response(ctx, verified.opened, shape)


def _with_session(ctx: Context, verified: Verified) -> shapes.BackupCodeVerified:
    token, row = (
        (ctx.signed_in.token, ctx.signed_in.session)
        if verified.opened is None
        else (verified.opened.token, verified.opened.session)
    )
    session = _reduced_session(row, token)
    return {"token": token, "user": _two_factor_user(verified.user), "session": session}


# two_factor.generate_backup_codes
async def generate_backup_codes(
    ctx: Context, body: shapes.GenerateBackupCodesRequest
) -> shapes.NewBackupCodes:
    """Replace the backup codes."""
    return {"status": True, "backupCodes": await setup.regenerate_backup_codes(ctx, body["password"])}


def _two_factor_user(row: UserRow) -> shapes.TwoFactorUser:
    """Return the reduced user, and whether the second factor is enabled."""
    return {**wire.reduced_user(row), "twoFactorEnabled": row.two_factor_enabled}


def _reduced_session(row: SessionRow, token: str) -> shapes.ReducedSession:
    """Return the four keys of a session in the response to a backup code."""
    return {
        "token": token,
        "userId": row.user_id,
        "createdAt": wire.instant(row.created_at),
        "expiresAt": wire.instant(row.expires_at),
    }
