"""The operations of openapi/paths/authentication.yaml."""

from domain import authentication, errors, sessions
from domain.authentication import SignIn, SignUp
from domain.challenges import Pending
from domain.context import Context
from domain.sessions import OpenedSession
from handlers import shapes, wire
from handlers.handover import hand_over, put_off, take_away
from handlers.reply import Reply

SignInReply = Reply[shapes.SignedIn] | Reply[shapes.PendingSignIn]


async def sign_up_email(ctx: Context, body: shapes.SignUpRequest) -> Reply[shapes.SignedUp]:
    """Make a user with an address and a password, and sign them in."""
    user, opened = await authentication.sign_up(ctx, _wanted_user(body))
    reduced = wire.reduced_user(user)
    if opened is None:
        return Reply({"token": None, "user": reduced})
    return hand_over(ctx, opened, {"token": opened.token, "user": reduced})


def _wanted_user(body: shapes.SignUpRequest) -> SignUp:
    return SignUp(
        name=body["name"],
        email=body["email"],
        password=body["password"],
        image=body.get("image"),
        username=body.get("username"),
        display_username=body.get("displayUsername"),
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL"),
    )


async def sign_in_email(ctx: Context, body: shapes.SignInEmailRequest) -> SignInReply:
    """Sign in with an address and a password."""
    wanted = _wanted_session(body)
    opened = await authentication.sign_in_by_email(ctx, body["email"], body["password"], wanted)
    return _signed_in(ctx, opened, wanted)


async def sign_in_username(ctx: Context, body: shapes.SignInUsernameRequest) -> SignInReply:
    """Sign in with a username and a password."""
    wanted = _wanted_session(body)
    opened = await authentication.sign_in_by_username(ctx, body["username"], body["password"], wanted)
    return _signed_in(ctx, opened, wanted)


def _wanted_session(body: shapes.SignInEmailRequest | shapes.SignInUsernameRequest) -> SignIn:
    return SignIn(
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL"),
        method="username" if "username" in body else "password",
    )


def _signed_in(ctx: Context, opened: OpenedSession | Pending, wanted: SignIn) -> SignInReply:
    if isinstance(opened, Pending):
        return put_off(ctx, opened)
    body: shapes.SignedIn = {
        "redirect": wanted.callback_url is not None,
        "token": opened.token,
        "url": wanted.callback_url,
        "user": wire.reduced_user(opened.user),
    }
    return hand_over(ctx, opened, body)


async def sign_in_social(ctx: Context, body: shapes.SignInSocialRequest) -> shapes.SocialSignIn:
    """Sign in with an external provider."""
    raise errors.NotImplementedYet


async def sign_out(ctx: Context, body: shapes.SignOutRequest) -> Reply[shapes.Success]:
    """End the current session, if there is one."""
    if ctx.caller is not None:
        await sessions.sign_out(ctx)
    return take_away(ctx, {"success": True})
