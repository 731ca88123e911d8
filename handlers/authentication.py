"""The operations of openapi/paths/authentication.yaml: sign up, sign in and sign out."""

from domain.authentication import sign_in, sign_up
from domain.authentication.gate import SignInOptions
from domain.authentication.sign_up import SignUp
from domain.context import Context
from domain.passwords import events as password_events
from domain.sessions.sign_out import end_presented
from handlers import shapes, wire
from handlers.responses.reply import Reply
from handlers.responses.sessions import (
    session_response,
    sign_out_response,
    signed_in_response,
)


# authentication.sign_up_email
async def sign_up_email(ctx: Context, body: shapes.SignUpRequest) -> Reply[shapes.SignedUp]:
    """Create a user with an email address and a password, and sign them in."""
    user, opened = await sign_up.sign_up(ctx, _new_user(body))
    reduced = wire.reduced_user(user)  # defence: V30 sign-up-fields
    if opened is None:
        return Reply({"token": None, "user": reduced})
    return session_response(ctx, opened, {"token": opened.token, "user": reduced})


def _new_user(body: shapes.SignUpRequest) -> SignUp:
    return SignUp(
        name=body["name"],
        email=body["email"],
        password=body["password"],
        image=body.get("image"),
        username=body.get("username"),
        display_username=body.get("displayUsername"),
        locale=body.get("locale"),
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL"),
    )


# authentication.sign_in_email
async def sign_in_email(ctx: Context, body: shapes.SignInEmailRequest) -> Reply[shapes.SignInAnswer]:
    """Sign in with an email address and a password."""
    options = _sign_in_options(body)
    opened = await sign_in.sign_in_by_email(ctx, body["email"], body["password"], options)
    return signed_in_response(ctx, opened, options.callback_url)


# authentication.sign_in_username
async def sign_in_username(ctx: Context, body: shapes.SignInUsernameRequest) -> Reply[shapes.SignInAnswer]:
    """Sign in with a username and a password."""
    options = _sign_in_options(body)
    opened = await sign_in.sign_in_by_username(ctx, body["username"], body["password"], options)
    return signed_in_response(ctx, opened, options.callback_url)


def _sign_in_options(body: shapes.SignInEmailRequest | shapes.SignInUsernameRequest) -> SignInOptions:
    return SignInOptions(
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL"),
        method=(password_events.USERNAME if "username" in body else password_events.PASSWORD).name,
    )


# authentication.sign_out
async def sign_out(ctx: Context, body: shapes.EmptyRequest) -> Reply[shapes.Success]:
    """End every session whose token is in the request."""
    await end_presented(ctx)
    return sign_out_response(ctx, {"success": True})
