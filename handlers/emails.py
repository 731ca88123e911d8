"""The operations of openapi/paths/emails.yaml: verify and change the email address."""

from domain import errors
from domain.context import Context, Rollback
from domain.emails import emails
from handlers import shapes, wire
from handlers.responses import redirects
from handlers.responses.reply import Redirect


# emails.verify
async def verify(
    ctx: Context, token: str, callback_url: str | None = None
) -> shapes.EmailVerified | Redirect | Rollback[Redirect]:
    """Verify or change an email address with the token of a link; if there is a redirect URL, redirect to it."""
    try:
        user = await emails.verify(ctx, token)
    except errors.Unauthenticated as refusal:
        if callback_url is None:
            raise
        return redirects.refused(ctx.policy, callback_url, refusal)
    if callback_url is not None:
        return redirects.to(ctx.policy, callback_url)
    return {"user": wire.reduced_user(user), "status": True}


# emails.send_verification
async def send_verification(ctx: Context, body: shapes.SendVerificationEmailRequest) -> shapes.Status:
    """Request a link that verifies an email address."""
    await emails.send_verification(ctx, body["email"], body.get("callbackURL"))
    return {"status": True}


# emails.change
async def change(ctx: Context, body: shapes.ChangeEmailRequest) -> shapes.EmailChangeAccepted:
    """Change the caller's email address at once, or send a link that changes it."""
    at_once = await emails.change(ctx, body["newEmail"], body.get("callbackURL"))
    return {"status": True, "message": "Email updated", "verificationSent": not at_once}
