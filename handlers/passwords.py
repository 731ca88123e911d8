"""The operations of openapi/paths/passwords.yaml: reset a forgotten password, and change or verify the current one."""

from domain.context import Context
from domain.passwords import passwords
from domain.passwords.errors import InvalidResetToken
from handlers import shapes, wire
from handlers.responses import redirects
from handlers.responses.reply import Redirect, Reply
from handlers.responses.sessions import clear_trusted_device_cookie, session_response


# passwords.request_reset
async def request_reset(ctx: Context, body: shapes.RequestPasswordResetRequest) -> shapes.Status:
    """Queue the request for a reset link; the response never reveals whether the email address is known."""
    # Only queued: a look-up here would show by its time whether the address has an account.
    passwords.request_reset(ctx, body["email"], body.get("redirectTo"))  # defence: V71 after-answer
    return {"status": True}  # defence: V70 reset-answer


# passwords.forget
async def forget(ctx: Context, body: shapes.RequestPasswordResetRequest) -> shapes.Status:
    """Do the same as `request_reset`, under its older name."""
    return await request_reset(ctx, body)


# passwords.check_reset_token
async def check_reset_token(
    ctx: Context, token: str, callback_url: str | None = None
) -> shapes.ResetTokenValid | Redirect:
    """Check a reset token without using it up; with a redirect URL, redirect to it with the token or an error."""
    valid = await passwords.is_reset_token(ctx, token)
    if callback_url is None:
        if not valid:
            raise InvalidResetToken
        return {"token": token}
    if valid:
        return redirects.to(ctx.policy, callback_url, token=token)
    return redirects.to(ctx.policy, callback_url, error=InvalidResetToken.code)


# passwords.reset
async def reset(ctx: Context, body: shapes.ResetPasswordRequest) -> shapes.PasswordReset:
    """Replace a forgotten password, with the token sent by email."""
    done = await passwords.reset(ctx, body.get("token"), body["newPassword"])
    return {"status": True, "user": wire.user(done.user)}


# passwords.change
async def change(ctx: Context, body: shapes.ChangePasswordRequest) -> Reply[shapes.PasswordChanged]:
    """Change the caller's password; with `revokeOtherSessions`, replace all sessions with a new one."""
    revoke_others = wire.flag(body.get("revokeOtherSessions"))
    current = body.get("currentPassword")
    opened = await passwords.change(ctx, current, body["newPassword"], revoke_others=revoke_others)
    user = wire.reduced_user(ctx.signed_in.user)
    if opened is None:
        return clear_trusted_device_cookie(ctx, Reply({"user": user, "token": ctx.signed_in.token}))
    return clear_trusted_device_cookie(
        ctx, session_response(ctx, opened, {"user": user, "token": opened.token})
    )


# passwords.verify
async def verify(ctx: Context, body: shapes.VerifyPasswordRequest) -> shapes.Status:
    """Check the caller's password before a sensitive operation."""
    await passwords.check(ctx, body["password"])
    return {"status": True}
