"""The operations of openapi/paths/authentication.yaml."""

from domain.authentication import sign_in, sign_up
from domain.authentication.gate import SignInOptions
from domain.authentication.sign_up import SignUp
from domain.context import Context
from domain.sessions.sessions import OpenedSession
from domain.sessions.sign_out import end_presented
from domain.social import authorization_request
from domain.social import sign_in as social_sign_in
from domain.social.authorization_request import AuthorizationRequest
from domain.two_factor.challenges import PendingSignIn
from handlers import shapes, wire
from handlers.responses.reply import Reply
from handlers.responses.sessions import (
    authorization_redirect,
    session_response,
    sign_out_response,
    two_factor_required,
)


async def sign_up_email(ctx: Context, body: shapes.SignUpRequest) -> Reply[shapes.SignedUp]:
    """Create a user with an email address and a password, and sign them in."""
    user, opened = await sign_up.sign_up(ctx, _wanted_user(body))
    reduced = wire.reduced_user(user)  # defence: V30 sign-up-fields
    if opened is None:
        return Reply({"token": None, "user": reduced})
    return session_response(ctx, opened, {"token": opened.token, "user": reduced})


def _wanted_user(body: shapes.SignUpRequest) -> SignUp:
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


async def sign_in_email(ctx: Context, body: shapes.SignInEmailRequest) -> Reply[shapes.SignInAnswer]:
    """Sign in with an email address and a password."""
    wanted = _wanted_session(body)
    opened = await sign_in.sign_in_by_email(ctx, body["email"], body["password"], wanted)
    return _signed_in(ctx, opened, wanted.callback_url)


async def sign_in_username(ctx: Context, body: shapes.SignInUsernameRequest) -> Reply[shapes.SignInAnswer]:
    """Sign in with a username and a password."""
    wanted = _wanted_session(body)
    opened = await sign_in.sign_in_by_username(ctx, body["username"], body["password"], wanted)
    return _signed_in(ctx, opened, wanted.callback_url)


def _wanted_session(body: shapes.SignInEmailRequest | shapes.SignInUsernameRequest) -> SignInOptions:
    return SignInOptions(
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL"),
        method="username" if "username" in body else "password",
    )


def _signed_in(
    ctx: Context, opened: OpenedSession | PendingSignIn, callback_url: str | None
) -> Reply[shapes.SignInAnswer]:
    if isinstance(opened, PendingSignIn):
        return two_factor_required(ctx, opened)
    body: shapes.SignInAnswer = {
        "redirect": callback_url is not None,
        "token": opened.token,
        "url": callback_url,
        "user": wire.reduced_user(opened.user),
    }
    return session_response(ctx, opened, body)


async def sign_in_social(
    ctx: Context, body: shapes.SignInSocialRequest
) -> Reply[shapes.SocialSignIn] | Reply[shapes.SignInAnswer]:
    """Sign in with an external provider: by an ID token at once, otherwise by redirect."""
    id_token = body.get("idToken")
    if id_token is not None:
        return await _sign_in_by_id_token(ctx, body, id_token)
    request = AuthorizationRequest(
        provider_id=body["provider"],
        scopes=wire.scopes(body.get("scopes")),
        callback_url=body.get("callbackURL"),
        new_user_callback_url=body.get("newUserCallbackURL"),
        error_callback_url=body.get("errorCallbackURL"),
        request_sign_up=wire.flag(body.get("requestSignUp")),
        login_hint=body.get("loginHint"),
    )
    redirect = await authorization_request.begin_sign_in(ctx, request)
    goes_on = not wire.flag(body.get("disableRedirect"))
    response: shapes.SocialSignIn = {"redirect": goes_on, "url": redirect.url, "token": ""}
    return authorization_redirect(ctx, redirect, response)


async def _sign_in_by_id_token(
    ctx: Context, body: shapes.SignInSocialRequest, id_token: shapes.IdToken
) -> Reply[shapes.SignInAnswer]:
    opened = await social_sign_in.by_id_token(
        ctx,
        body["provider"],
        wire.direct_proof(id_token),
        request_sign_up=wire.flag(body.get("requestSignUp")),
        callback_url=body.get("callbackURL"),
    )
    # The response has no URL, because the browser is not redirected.
    return _signed_in(ctx, opened, None)


async def sign_out(ctx: Context, body: shapes.EmptyRequest) -> Reply[shapes.Success]:
    """End every session in the request, if there is one."""
    await end_presented(ctx)
    return sign_out_response(ctx, {"success": True})
