"""The operations of openapi/paths/authentication.yaml."""

from domain import authentication, flows, sessions, social
from domain.authentication import SignIn, SignUp
from domain.challenges import Pending
from domain.context import Context
from domain.flows import Wish
from domain.sessions import OpenedSession
from handlers import shapes, wire
from handlers.handover import hand_over, put_off, send_off, take_away
from handlers.reply import Reply


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


async def sign_in_email(ctx: Context, body: shapes.SignInEmailRequest) -> Reply[shapes.SignInAnswer]:
    """Sign in with an address and a password."""
    wanted = _wanted_session(body)
    opened = await authentication.sign_in_by_email(ctx, body["email"], body["password"], wanted)
    return _signed_in(ctx, opened, wanted.callback_url)


async def sign_in_username(ctx: Context, body: shapes.SignInUsernameRequest) -> Reply[shapes.SignInAnswer]:
    """Sign in with a username and a password."""
    wanted = _wanted_session(body)
    opened = await authentication.sign_in_by_username(ctx, body["username"], body["password"], wanted)
    return _signed_in(ctx, opened, wanted.callback_url)


def _wanted_session(body: shapes.SignInEmailRequest | shapes.SignInUsernameRequest) -> SignIn:
    return SignIn(
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL"),
        method="username" if "username" in body else "password",
    )


def _signed_in(
    ctx: Context, opened: OpenedSession | Pending, callback_url: str | None
) -> Reply[shapes.SignInAnswer]:
    if isinstance(opened, Pending):
        return put_off(ctx, opened)
    body: shapes.SignInAnswer = {
        "redirect": callback_url is not None,
        "token": opened.token,
        "url": callback_url,
        "user": wire.reduced_user(opened.user),
    }
    return hand_over(ctx, opened, body)


async def sign_in_social(
    ctx: Context, body: shapes.SignInSocialRequest
) -> Reply[shapes.SocialSignIn] | Reply[shapes.SignInAnswer]:
    """Sign in with an external provider: by an ID token at once, else by a visit to it."""
    id_token = body.get("idToken")
    if id_token is not None:
        return await _sign_in_by_id_token(ctx, body, id_token)
    wish = Wish(
        provider_id=body["provider"],
        scopes=wire.scopes(body.get("scopes")),
        callback_url=body.get("callbackURL"),
        new_user_callback_url=body.get("newUserCallbackURL"),
        error_callback_url=body.get("errorCallbackURL"),
        request_sign_up=wire.flag(body.get("requestSignUp")),
        login_hint=body.get("loginHint"),
    )
    begun = await flows.begin_sign_in(ctx, wish)
    goes_on = not wire.flag(body.get("disableRedirect"))
    sent_off: shapes.SocialSignIn = {"redirect": goes_on, "url": begun.url, "token": ""}
    return send_off(ctx, begun, sent_off)


async def _sign_in_by_id_token(
    ctx: Context, body: shapes.SignInSocialRequest, id_token: shapes.IdToken
) -> Reply[shapes.SignInAnswer]:
    opened = await social.by_id_token(
        ctx,
        body["provider"],
        wire.direct_proof(id_token),
        request_sign_up=wire.flag(body.get("requestSignUp")),
        callback_url=body.get("callbackURL"),
    )
    # The answer names no address: there is no visit to come back from.
    return _signed_in(ctx, opened, None)


async def sign_out(ctx: Context, body: shapes.SignOutRequest) -> Reply[shapes.Success]:
    """End the current session, if there is one."""
    if ctx.caller is not None:
        await sessions.sign_out(ctx)
    return take_away(ctx, {"success": True})
