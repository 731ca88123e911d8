"""The operations of openapi/paths/oauth.yaml: the OAuth 2.1 and OpenID Connect provider."""

from typing import cast

from domain.context import Context, Rollback
from domain.oauth import introspection, revocation, token_endpoint, user_info
from domain.oauth.errors import RequestNotFound
from domain.oauth_clients import scopes
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_clients.policy import ClientPolicy
from domain.oauth_requests import authorization, details, logout
from domain.oauth_requests import consent as consents
from domain.oauth_requests.authorization import Destination
from domain.oauth_requests.details import RequestDetails, document_host, host_of
from domain.oauth_requests.logout import LogoutRequest
from domain.oauth_requests.parameters import PROMPTS
from handlers import shapes, wire
from handlers.oauth_clients import public_client
from handlers.responses.reply import Redirect, Rendered, Reply
from handlers.responses.sessions import sign_out_response


# oauth.push_request
async def push_request(ctx: Context, parameters: OAuthParameters) -> Reply[shapes.PushedRequest]:
    """Store an authorization request that a client sends itself, without a browser; return its `request_uri`."""
    uri, life = await authorization.push(ctx, parameters)
    return Reply({"request_uri": uri, "expires_in": int(life.total_seconds())}, status=201)


# oauth.authorize
async def authorize(ctx: Context, parameters: OAuthParameters) -> Redirect | Rollback[Redirect]:
    """Redirect a user to the next page of an authorization request, or back to the client."""
    return _redirect(await authorization.authorize(ctx, parameters))


# oauth.authorize_by_post
async def authorize_by_post(ctx: Context, parameters: OAuthParameters) -> Redirect | Rollback[Redirect]:
    """Store an authorization request that was sent by a form, and redirect to the same endpoint with GET."""
    return _redirect(await authorization.authorize_by_post(ctx, parameters))


def _redirect(destination: Destination) -> Redirect | Rollback[Redirect]:
    redirect = Redirect(destination.url)
    return Rollback(redirect) if destination.is_refusal else redirect


# oauth.read_request
async def read_request(ctx: Context, request: str) -> shapes.OAuthRequestDetails:
    """Return what a live authorization or logout request asks for, so that a page can show it."""
    try:
        return _details(ctx, await details.read(ctx, request))
    except RequestNotFound:
        return _logout_details(ctx, await logout.read(ctx, request))


# oauth.continue
async def continue_(ctx: Context, body: shapes.ContinueOAuthRequest) -> shapes.OAuthContinuation:
    """Record what the user has done on a page of an authorization request; return the URL that continues it."""
    url = await consents.continue_request(
        ctx,
        body["oauth_query"],
        selected=body.get("selected", False),
        created=body.get("created", False),
    )
    return {"redirect": True, "url": url}


# oauth.consent
async def consent(ctx: Context, body: shapes.ConsentToOAuthRequest) -> shapes.OAuthContinuation:
    """Consent to an authorization request or refuse it; return the URL to go to next."""
    if body["accept"]:
        url = await consents.consent(ctx, body["oauth_query"], body.get("scope"))
    else:
        url = await consents.refuse(ctx, body["oauth_query"])
    return {"redirect": True, "url": url}


# oauth.token
async def token(ctx: Context, parameters: OAuthParameters) -> shapes.OAuthTokens:
    """Issue tokens to the client."""
    return await token_endpoint.respond(ctx, parameters)


# oauth.revoke
async def revoke(ctx: Context, parameters: OAuthParameters) -> shapes.OAuthEmpty:
    """Revoke a token that belongs to the client."""
    await revocation.revoke(ctx, parameters)
    return {}


# oauth.end_session
async def end_session(ctx: Context, parameters: OAuthParameters) -> Redirect:
    """Sign the user out at once, or redirect to the page that asks whether to sign out."""
    after = await logout.begin(ctx, parameters)
    return Redirect(after.url, sign_out_response(ctx, None).headers if after.has_ended else ())


# oauth.end_session_by_post
async def end_session_by_post(ctx: Context, parameters: OAuthParameters) -> Redirect:
    """Store a logout request that was sent by a form, and redirect to the same endpoint with GET."""
    return Redirect((await logout.store(ctx, parameters)).url, status=303)


# oauth.confirm_end_session
async def confirm_end_session(
    ctx: Context, body: shapes.ConfirmEndSessionRequest
) -> Reply[shapes.ConfirmedEndSession]:
    """Sign the user out if they accept a logout request; return the URL to go to next."""
    after = await logout.confirm(ctx, body["request"], accept=body["accept"])
    confirmed: shapes.ConfirmedEndSession = {"redirect": True, "url": after.url}
    return sign_out_response(ctx, confirmed) if after.has_ended else Reply(confirmed)


def _details(ctx: Context, found: RequestDetails) -> shapes.OAuthRequestDetails:
    asked, policy = found.asked, ctx.policy[ClientPolicy]
    return {
        "kind": "authorize",
        "client": {**public_client(asked.client), "verified": asked.client.is_verified},
        "documentHost": document_host(asked.client),
        "redirectHost": found.redirect_host,
        "scopes": [
            {"name": name, "description": text} for name, text in scopes.described(policy, asked.scopes)
        ],
        "resources": [{"uri": uri, "name": policy.resources[uri].name} for uri in asked.resources],
        "offline": "offline_access" in asked.scopes,
        "prompt": [one for one in PROMPTS if one in asked.prompt],
        "loginHint": asked.login_hint,
        "uiLocales": asked.ui_locales,
        "reason": None if found.reason is None else found.reason.value,
        "createdAt": wire.instant(found.created_at),
        "user": None if ctx.caller is None else wire.reduced_user(ctx.caller.user),
    }


def _logout_details(ctx: Context, found: LogoutRequest) -> shapes.OAuthRequestDetails:
    client = found.client
    return {
        "kind": "logout",
        "client": None if client is None else {**public_client(client), "verified": client.is_verified},
        "documentHost": None if client is None else document_host(client),
        "redirectHost": None if found.return_url is None else host_of(found.return_url),
        "scopes": [],
        "resources": [],
        "offline": False,
        "prompt": [],
        "loginHint": found.logout_hint,
        "uiLocales": found.ui_locales,
        "reason": None,
        "createdAt": wire.instant(found.created_at),
        "user": None if ctx.caller is None else wire.reduced_user(ctx.caller.user),
    }


# oauth.introspect
async def introspect(ctx: Context, parameters: OAuthParameters) -> Rendered:
    """Return whether a token is active, and what it grants."""
    return Rendered((await introspection.introspect(ctx, parameters)).json)


# oauth.userinfo
async def userinfo(ctx: Context, parameters: OAuthParameters) -> shapes.OAuthUserInfo:
    """Return claims about the user of an access token."""
    return cast(shapes.OAuthUserInfo, await user_info.read(ctx, parameters))


# oauth.userinfo_by_post
async def userinfo_by_post(ctx: Context, parameters: OAuthParameters) -> shapes.OAuthUserInfo:
    """Do the same as `userinfo`, for requests with POST."""
    return await userinfo(ctx, parameters)
