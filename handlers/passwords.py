"""The operations of openapi/paths/passwords.yaml."""

from domain import errors, passwords
from domain.context import Context
from handlers import redirects, shapes, wire
from handlers.handover import forget_device, hand_over
from handlers.reply import Redirect, Reply


async def request_reset(ctx: Context, body: shapes.RequestPasswordResetRequest) -> shapes.Status:
    """File the wish for a reset link; the answer never tells whether the address is known."""
    passwords.request_reset(ctx, body["email"], body.get("redirectTo"))
    return {"status": True}


async def forget(ctx: Context, body: shapes.RequestPasswordResetRequest) -> shapes.Status:
    """Do the same as `request_reset`, under the interface's other name."""
    return await request_reset(ctx, body)


async def check_reset_token(
    ctx: Context, token: str, callback_url: str | None = None
) -> shapes.ResetTokenValid | Redirect:
    """Tell whether a reset token is valid, or lead on with it; it is not used up."""
    valid = await passwords.is_reset_token(ctx, token)
    if callback_url is None:
        if not valid:
            raise errors.InvalidResetToken
        return {"token": token}
    if valid:
        return redirects.to(ctx.policy, callback_url, token=token)
    return redirects.to(ctx.policy, callback_url, error=errors.InvalidResetToken.code)


async def reset(ctx: Context, body: shapes.ResetPasswordRequest) -> shapes.PasswordReset:
    """Replace a forgotten password by the mailed token."""
    user = await passwords.reset(ctx, body.get("token"), body["newPassword"])
    return {"status": True, "user": wire.user(user)}


async def change(ctx: Context, body: shapes.ChangePasswordRequest) -> Reply[shapes.PasswordChanged]:
    """Replace the caller's password; with `revokeOtherSessions` a new session takes the place of all."""
    revoke_others = wire.flag(body.get("revokeOtherSessions"))
    current = body.get("currentPassword")
    opened = await passwords.change(ctx, current, body["newPassword"], revoke_others=revoke_others)
    user = wire.reduced_user(ctx.signed_in.user)
    if opened is None:
        return forget_device(ctx, Reply({"user": user, "token": ctx.signed_in.token}))
    return forget_device(ctx, hand_over(ctx, opened, {"user": user, "token": opened.token}))


async def verify(ctx: Context, body: shapes.VerifyPasswordRequest) -> shapes.Status:
    """Check the caller's password before something sensitive."""
    await passwords.check(ctx, body["password"])
    return {"status": True}
