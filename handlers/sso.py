"""The operations of sso.yaml, sso_sign_in.yaml and sso_testing.yaml in openapi/paths.

They manage connections to identity providers, sign users in and out through them, and run test sign-ins.
"""

from typing import cast

from domain import urls
from domain.context import Context, Rollback
from domain.oauth_requests import details
from domain.social.authorization_request import AuthorizationRequest
from domain.social.callback import CallbackRequest
from domain.social.policy import SocialPolicy
from domain.sso.saml import LogoutMessage
from domain.sso_connections import connections, testing
from domain.sso_sign_in import begin, logout, openid, saml
from domain.sso_sign_in.connections import ConnectionSelector
from handlers import shapes, wire
from handlers.responses import continuation, cookies, oauth_redirects, redirects
from handlers.responses.reply import Header, NoContent, Redirect, Reply, SamlDocument
from handlers.responses.sessions import authorization_redirect, sign_out_response
from handlers.sso_connections import provider_shape

_FORM = ("code", "state", "error", "error_description", "iss")
"""The fields that a provider may send by a form post."""


# sso.register
async def register(ctx: Context, body: shapes.RegisterSsoProviderRequest) -> shapes.RegisteredSsoProvider:
    """Create a connection to an identity provider."""
    connection = await connections.register(ctx, body)
    shape = {
        **provider_shape(ctx, connection),
        "domainVerificationToken": connection.domains[0].token,
    }
    return cast(shapes.RegisteredSsoProvider, shape)


# sso.list
async def list(ctx: Context) -> shapes.SsoProviderList:  # noqa: A001 - the name of the operation
    """Return the connections that the caller may manage."""
    return {"providers": [provider_shape(ctx, one) for one in await connections.list_all(ctx)]}


# sso.get
async def get(ctx: Context, provider_id: str) -> shapes.SsoProvider:
    """Return a connection."""
    return provider_shape(ctx, await connections.get(ctx, provider_id))


# sso.update
async def update(ctx: Context, body: shapes.UpdateSsoProviderRequest) -> shapes.SsoProvider:
    """Change a connection."""
    sent = {name: value for name, value in body.items() if name != "providerId"}
    return provider_shape(ctx, await connections.update(ctx, body["providerId"], sent))


# sso.remove
async def remove(ctx: Context, body: shapes.SsoProviderRequest) -> shapes.DeletedSsoProvider:
    """Delete a connection."""
    await connections.remove(ctx, body["providerId"])
    return {"success": True}


# sso.request_domain
async def request_domain(ctx: Context, body: shapes.SsoProviderRequest) -> Reply[shapes.SsoDomainToken]:
    """Return the value of the TXT records that verify the domains of a connection."""
    token = await connections.request_verification(ctx, body["providerId"])
    return Reply({"domainVerificationToken": token}, status=201)


# sso.verify_domain
async def verify_domain(ctx: Context, body: shapes.SsoProviderRequest) -> NoContent:
    """Verify the domains of a connection by their TXT records."""
    await connections.verify_domains(ctx, body["providerId"])
    return NoContent()


# sso.metadata
async def metadata(ctx: Context, provider_id: str) -> SamlDocument:
    """Return the SAML metadata of this service for a connection."""
    return SamlDocument(await connections.saml_metadata(ctx, provider_id))


# sso.sign_in
async def sign_in(ctx: Context, body: shapes.SignInSsoRequest) -> Reply[shapes.SsoSignIn]:
    """Begin a sign-in at the identity provider of a connection."""
    selector = ConnectionSelector(
        body.get("providerId"),
        body.get("organizationSlug"),
        body.get("domain"),
        body.get("email"),
        body.get("providerType"),
    )
    # The callback redirects to where an authorization request goes on.
    continues = await continuation.url_of(ctx, body)
    request = AuthorizationRequest(
        provider_id="",
        scopes=(),
        callback_url=continues or body.get("callbackURL"),
        new_user_callback_url=continues or body.get("newUserCallbackURL"),
        error_callback_url=body.get("errorCallbackURL"),
        request_sign_up=wire.flag(body.get("requestSignUp")),
        login_hint=body.get("loginHint") or body.get("email") or None,
        forces_authentication=await details.forces_authentication(ctx, continues),
    )
    redirect = await begin.begin(ctx, selector, request)
    return authorization_redirect(ctx, redirect, {"url": redirect.url, "redirect": True})


# sso.begin_test
async def begin_test(ctx: Context, body: shapes.TestSsoProviderRequest) -> Reply[shapes.SsoSignIn]:
    """Begin a test sign-in at the identity provider of a connection."""
    redirect = await testing.begin(ctx, body["providerId"], body.get("callbackURL"))
    return authorization_redirect(ctx, redirect, {"url": redirect.url, "redirect": True})


# sso.take_test_result
async def take_test_result(ctx: Context, body: shapes.SsoTestResultRequest) -> shapes.SsoTestResult:
    """Return the result of a test sign-in, and delete it."""
    found = await testing.take(ctx, body["providerId"], body["result"])
    shape = {
        "outcome": found.outcome,
        "code": found.code,
        "subject": found.subject,
        "email": found.email,
        "name": found.name,
        "groups": [*found.groups],
        "attributes": [{"name": name, "values": [*values]} for name, values in found.attributes.items()],
        "roles": [*found.roles],
        "roleSource": found.role_source,
        "group": found.group,
    }
    return cast(shapes.SsoTestResult, shape)


# sso.receive_callback
async def receive_callback(
    ctx: Context,
    provider_id: str,
    code: str | None = None,
    state: str | None = None,
    error: str | None = None,
    error_description: str | None = None,
    iss: str | None = None,
) -> Redirect | Rollback[Redirect]:
    """Complete the sign-in at an OpenID provider that `sso.sign_in` has begun, and redirect.

    `error` and `error_description` are what the provider sent instead of `code`, if it refused the sign-in.
    """
    names = ctx.policy.cookies
    request = CallbackRequest(
        provider_id=provider_id,
        state=state,
        code=code,
        error=error,
        error_description=error_description,
        issuer=iss,
        form_user=None,
        bindings=ctx.cookies.values(cookies.state_name(names, state or "").encode()),
        session_tokens=(),
    )
    return oauth_redirects.callback_redirect(ctx, await openid.handle_callback(ctx, request), state)


# sso.relay_callback
async def relay_callback(ctx: Context, provider_id: str, body: shapes.ProviderCallbackForm) -> Redirect:
    """Redirect the form post of a provider to the same URL with GET."""
    return oauth_redirects.relay(ctx, "/sso/callback", provider_id, body, _FORM)


# sso.consume_assertion
async def consume_assertion(
    ctx: Context, provider_id: str, body: shapes.SamlResponseForm
) -> Redirect | Rollback[Redirect]:
    """Check a SAML response, and redirect to a URL of this service to which the browser sends its cookies."""
    sent = saml.SentResponse(provider_id, body.get("SAMLResponse") or "", body.get("RelayState") or None)
    kept = await saml.consume(ctx, sent)
    if isinstance(kept, saml.KeptResponse):
        headers: tuple[Header, ...] = ()
        if kept.binding is not None:
            # Without a request there is no cookie yet; this response is a navigation, so the browser stores one.
            headers = (cookies.set_state(ctx.policy.cookies, kept.state, kept.binding, max_age=saml.SECONDS),)
        return Redirect(urls.public_url(ctx.policy, "/sso/saml2/continue", state=kept.state), headers)
    return oauth_redirects.callback_redirect(ctx, kept, None)


# sso.complete_sign_in
async def complete_sign_in(ctx: Context, state: str | None = None) -> Redirect | Rollback[Redirect]:
    """Sign in with the result of a SAML response."""
    bindings = ctx.cookies.values(cookies.state_name(ctx.policy.cookies, state or "").encode())
    return oauth_redirects.callback_redirect(ctx, await saml.finish(ctx, state, bindings), state)


# sso.end_session
async def end_session(
    ctx: Context,
    provider_id: str,
    saml_request: str | None = None,
    saml_response: str | None = None,
    relay_state: str | None = None,
    sig_alg: str | None = None,
    signature: str | None = None,
) -> Redirect:
    """Receive a SAML logout message by redirect; its signature covers the query as it was sent."""
    return await _end_session(ctx, provider_id, LogoutMessage(query=ctx.facts.query.decode("latin-1")))


# sso.end_session_by_post
async def end_session_by_post(ctx: Context, provider_id: str, body: shapes.SamlLogoutForm) -> Redirect:
    """Receive a SAML logout message by form."""
    form = {name: value for name, value in body.items() if isinstance(value, str)}
    return await _end_session(ctx, provider_id, LogoutMessage(form=form))


async def _end_session(ctx: Context, provider_id: str, message: LogoutMessage) -> Redirect:
    url = await logout.receive_message(ctx, provider_id, message)
    return redirects.on(ctx.policy, None, url or ctx.policy[SocialPolicy].default_redirect_url)


# sso.sign_out
async def sign_out(
    ctx: Context, provider_id: str, body: shapes.SignOutSsoRequest
) -> Reply[shapes.SsoSignOut]:
    """End the session, and return the URL that ends it at the identity provider as well."""
    target = body.get("callbackURL") or None
    back = None if target is None else redirects.absolute(ctx.policy, target)
    url = await logout.sign_out(ctx, provider_id, back) or back
    return sign_out_response(ctx, {"success": True, "redirect": url is not None, "url": url})


# sso.backchannel_logout
async def backchannel_logout(ctx: Context, provider_id: str, body: shapes.LogoutTokenForm) -> shapes.Success:
    """End the sessions that a logout token names."""
    await logout.receive_token(ctx, provider_id, body["logout_token"])
    return {"success": True}
