"""The operations of openapi/paths/email_codes.yaml.

Codes sent by email that sign in, verify or change the email address, or reset the password.
"""

from domain.context import Context
from domain.email_codes import codes, email_codes
from domain.two_factor.challenges import PendingSignIn
from handlers import shapes, wire
from handlers.responses.reply import Reply
from handlers.responses.sessions import session_response, two_factor_required


# email_codes.send
async def send(ctx: Context, body: shapes.SendEmailCodeRequest) -> shapes.Success:
    """Queue the request for a code by email; the response is the same for every address."""
    await email_codes.request(ctx, body["email"], codes.REQUESTED[body["type"]])
    return {"success": True}


# email_codes.check
async def check(ctx: Context, body: shapes.CheckEmailCodeRequest) -> shapes.Success:
    """Check a code without using it up."""
    await email_codes.check(ctx, body["email"], codes.REQUESTED[body["type"]], body["otp"])
    return {"success": True}


# email_codes.verify_email
async def verify_email(ctx: Context, body: shapes.VerifyEmailCodeRequest) -> shapes.EmailCodeVerified:
    """Verify an email address with a code; no session is created."""
    user = await email_codes.verify_email(ctx, body["email"], body["otp"])
    return {"status": True, "token": None, "user": wire.user(user)}


# email_codes.sign_in
async def sign_in(
    ctx: Context, body: shapes.SignInEmailCodeRequest
) -> Reply[shapes.SignedInByEmailCode] | Reply[shapes.SignInAnswer]:
    """Sign in with a code."""
    signed_in = await email_codes.sign_in(
        ctx,
        body["email"],
        body["otp"],
        name=body.get("name", ""),
        image=body.get("image"),
        remembered=wire.flag(body.get("rememberMe"), default=True),
    )
    if isinstance(signed_in.opened, PendingSignIn):
        return two_factor_required(ctx, signed_in.opened)
    opened = signed_in.opened
    shape: shapes.SignedInByEmailCode = {"token": opened.token, "user": wire.reduced_user(opened.user)}
    return session_response(ctx, opened, shape)


# email_codes.request_reset
async def request_reset(ctx: Context, body: shapes.RequestResetCodeRequest) -> shapes.Success:
    """Queue the request for a code that resets the password."""
    await email_codes.request(ctx, body["email"], codes.RESET)
    return {"success": True}


# email_codes.forget_password
async def forget_password(ctx: Context, body: shapes.RequestResetCodeRequest) -> shapes.Success:
    """Do the same as `request_reset`, under its older name."""
    return await request_reset(ctx, body)


# email_codes.reset_password
async def reset_password(ctx: Context, body: shapes.ResetPasswordByCodeRequest) -> shapes.Success:
    """Replace a forgotten password, with a code sent by email."""
    await email_codes.reset_password(ctx, body["email"], body["otp"], body["password"])
    return {"success": True}


# email_codes.request_change
async def request_change(ctx: Context, body: shapes.RequestEmailChangeRequest) -> shapes.Success:
    """Send a code to the new email address of the caller."""
    await email_codes.request_change(ctx, body["newEmail"], body.get("otp"))
    return {"success": True}


# email_codes.change_email
async def change_email(ctx: Context, body: shapes.ChangeEmailByCodeRequest) -> shapes.Success:
    """Change the caller's email address with the code that was sent to the new one."""
    await email_codes.change_email(ctx, body["newEmail"], body["otp"])
    return {"success": True}
