"""The operations of openapi/paths/social.yaml.

Sign in and link accounts through external providers, and get tokens and profiles from them.
"""

import re

from domain.context import Context, Rollback
from domain.identity_provider import IdTokenCredential
from domain.social import authorization_request, callback, linking, tokens
from domain.social import sign_in as social_sign_in
from domain.social.authorization_request import AuthorizationRequest
from domain.social.callback import CallbackRequest
from domain.social.tokens import AccountSelector, DecryptedTokens, Profile
from handlers import shapes, wire
from handlers.responses import continuation, cookies, oauth_redirects
from handlers.responses.reply import Redirect, Reply
from handlers.responses.sessions import authorization_redirect, signed_in_response

_SEPARATORS = re.compile(r"[ ,]+")

_FORM = ("code", "state", "error", "error_description", "iss", "user")
"""The fields that a provider may send by a form post."""


# social.sign_in
async def sign_in(
    ctx: Context, body: shapes.SignInSocialRequest
) -> Reply[shapes.SocialSignIn] | Reply[shapes.SignInAnswer]:
    """Sign in through an external provider: with an ID token at once, otherwise by a redirect to the provider."""
    id_token = body.get("idToken")
    if id_token is not None:
        return await _sign_in_by_id_token(ctx, body, id_token)
    # The callback redirects to where an authorization request goes on.
    continues = await continuation.url_of(ctx, body)
    request = AuthorizationRequest(
        provider_id=body["provider"],
        scopes=_scopes(body.get("scopes")),
        callback_url=continues or body.get("callbackURL"),
        new_user_callback_url=continues or body.get("newUserCallbackURL"),
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
        _direct_proof(id_token),
        request_sign_up=wire.flag(body.get("requestSignUp")),
        callback_url=body.get("callbackURL"),
    )
    # The response has no URL, because the browser is not redirected.
    return signed_in_response(ctx, opened, None)


# social.link
async def link(ctx: Context, body: shapes.LinkSocialRequest) -> shapes.SocialLink | Reply[shapes.SocialLink]:
    """Begin to link an account at an external provider, or link it at once with an ID token."""
    id_token = body.get("idToken")
    if id_token is not None:
        await linking.by_id_token(ctx, body["provider"], _direct_proof(id_token))
        return {"url": "", "status": True, "redirect": False}
    request = AuthorizationRequest(
        provider_id=body["provider"],
        scopes=_scopes(body.get("scopes")),
        callback_url=body.get("callbackURL"),
        error_callback_url=body.get("errorCallbackURL"),
        login_hint=body.get("loginHint"),
    )
    redirect = await authorization_request.begin_linking(ctx, request)
    goes_on = not wire.flag(body.get("disableRedirect"))
    return authorization_redirect(ctx, redirect, {"url": redirect.url, "redirect": goes_on})


# social.refresh_token
async def refresh_token(ctx: Context, body: shapes.ProviderTokenRequest) -> shapes.ProviderTokens:
    """Refresh the tokens of a user's account at a provider."""
    return _provider_tokens(await tokens.refresh(ctx, _choice(body)))


# social.get_access_token
async def get_access_token(ctx: Context, body: shapes.ProviderTokenRequest) -> shapes.ProviderTokens:
    """Return the tokens of a user's account at a provider, refreshed if necessary."""
    return _provider_tokens(await tokens.get(ctx, _choice(body)))


def _choice(body: shapes.ProviderTokenRequest) -> AccountSelector:
    return AccountSelector(body.get("providerId"), body.get("accountId"), body.get("userId"))


# social.get_profile
async def get_profile(
    ctx: Context, account_id: str | None = None, provider_id: str | None = None
) -> shapes.AccountProfile:
    """Return the user's profile at a provider.

    `account_id` or `provider_id` must be given. `account_id` is the id of the linked account, or of the user at the
    provider.
    """
    return _account_profile(
        await tokens.profile(ctx, AccountSelector(provider_id, account_id, place="query"))
    )


# social.receive_callback
async def receive_callback(
    ctx: Context,
    provider: str,
    code: str | None = None,
    state: str | None = None,
    error: str | None = None,
    error_description: str | None = None,
    iss: str | None = None,
    user: str | None = None,
) -> Redirect | Rollback[Redirect]:
    """Complete what `sign-in/social` or `link-social` has begun at a provider."""
    names = ctx.policy.cookies
    request = CallbackRequest(
        provider_id=provider,
        state=state,
        code=code,
        error=error,
        error_description=error_description,
        issuer=iss,
        form_user=user,
        bindings=ctx.cookies.values(cookies.state_name(names, state or "").encode()),
        session_tokens=ctx.cookies.values(names.session_name.encode()),
    )
    return oauth_redirects.callback_redirect(ctx, await callback.handle_callback(ctx, request), state)


# social.relay_callback
async def relay_callback(ctx: Context, provider: str, body: shapes.ProviderCallbackForm) -> Redirect:
    """Redirect the form post of a provider to the same URL with GET."""
    return oauth_redirects.relay(ctx, "/callback", provider, body, _FORM)


def _direct_proof(value: shapes.IdToken) -> IdTokenCredential:
    """Return an ID token and the values sent with it; of the data about the user, only the name is used."""
    if isinstance(value, str):
        return IdTokenCredential(value)
    name = value.get("user", {}).get("name", {})
    parts = (name.get("firstName"), name.get("lastName"))
    return IdTokenCredential(
        id_token=value["token"],
        nonce=value.get("nonce"),
        access_token=value.get("accessToken") or None,
        refresh_token=value.get("refreshToken") or None,
        # Apple sends the name next to the ID token, which does not contain it.
        name=" ".join(part for part in parts if part) or None,
    )


def _scopes(value: shapes.Scopes | None) -> tuple[str, ...]:
    """Return scopes from an array, or from a string separated by spaces and commas; absent means none."""
    written = [value] if isinstance(value, str) else value or []
    return tuple(scope for text in written for scope in _SEPARATORS.split(text) if scope)


def _provider_tokens(opened: DecryptedTokens) -> shapes.ProviderTokens:
    """Return a provider's tokens in the form of API responses."""
    row = opened.account
    return {
        "tokenType": row.token_type or "Bearer",
        "accessToken": opened.access_token,
        "refreshToken": opened.refresh_token,
        "idToken": opened.id_token,
        "accessTokenExpiresAt": wire.optional_instant(row.access_token_expires_at),
        "refreshTokenExpiresAt": wire.optional_instant(row.refresh_token_expires_at),
        "scope": row.scope,
        "scopes": row.scopes,
        "providerId": row.provider_id,
        "accountId": row.id,
    }


def _account_profile(profile: Profile) -> shapes.AccountProfile:
    """Return a user's profile at a provider, in the service's format and raw."""
    row, identity = profile.account, profile.identity
    return {
        "user": {
            "id": identity.subject,
            "name": identity.name or None,
            "email": identity.email,
            "image": identity.image,
            "emailVerified": identity.email_verified,
        },
        "data": dict(identity.profile),
        "account": {
            "id": row.id,
            "providerId": row.provider_id,
            "issuer": row.issuer,
            "accountId": row.account_id,
        },
    }
