"""The authorization endpoint (RFC 6749, 4.1.1; OpenID Connect Core 1.0, 3.1.2), and pushed requests (RFC 9126)."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit

from domain import tokens, urls
from domain.context import Context, StaleRead
from domain.oauth import consents
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients import authentication, document_metadata, documents, redirect_uris
from domain.oauth_clients.errors import AccessDenied, InvalidClient, InvalidRequest, OAuthError
from domain.oauth_clients.metadata import InvalidMetadata
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_clients.policy import ClientPolicy
from domain.oauth_requests import events, parameters
from domain.oauth_requests import stored as stored_requests
from domain.oauth_requests.errors import ConsentRequired, InvalidRedirectUri, InvalidRequestUri, LoginRequired
from domain.oauth_requests.evaluation import Evaluation, Step, evaluate
from domain.oauth_requests.parameters import LONGEST_STATE, AuthorizationRequest
from domain.oauth_requests.stored import StoredRequest
from domain.users import locking
from models.oauth_client import ClientRow
from models.oauth_code import ADD_CODE, NONCE
from models.oauth_request import RequestKind

CODE_PREFIX = "gwc_"
_MOST_SHOWN = 300
"""Characters of addresses in an error."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The URL to which the user's browser is redirected."""

    url: str = field(repr=False)
    is_refusal: bool = False
    """Whether the URL carries an error, so that the request's transaction is rolled back."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An authorization request with a known client and a valid redirect URI. Later errors are sent to this URI."""

    client: ClientRow
    redirect_uri: str
    parameters: OAuthParameters
    stored: StoredRequest | None = None


async def authorize(ctx: Context, sent: OAuthParameters) -> Destination:
    """Evaluate an authorization request; return where the user's browser goes next.

    This is the page for the next step of the user, the client with a code or an error, or the service's own error page.
    The request comes from the client, or is a stored one to which one of its pages leads back.
    """
    try:
        arrival = await _arrival(ctx, sent)
    except OAuthError as error:
        return _refused_here(ctx, error)
    sent.error_url = partial(_error_url, ctx, arrival)
    try:
        asked = await parameters.checked(ctx, arrival.client, arrival.redirect_uri, arrival.parameters)
        # A caller who impersonates a user may not give away access to this user's data.
        if ctx.caller is not None and ctx.caller.impersonated_by is not None:  # defence: O7 impersonated
            raise AccessDenied
        found = await evaluate(ctx, asked, arrival.stored)
        if "none" in asked.prompt and found.step is not Step.CODE:
            raise LoginRequired if found.step is Step.LOGIN else ConsentRequired
        if found.step is not Step.CODE:
            return await _to_page(ctx, arrival, found.step)
        return await _issue_code(ctx, asked, arrival.stored, found)
    except OAuthError as error:
        return _refused_at_client(ctx, error, arrival)


async def authorize_by_post(ctx: Context, sent: OAuthParameters) -> Destination:
    """Check and store an authorization request that was sent by POST; return the URL that continues it by GET.

    A browser sends no Lax cookie with a POST from another site, so its user would seem to be signed out. If the request
    has an error, the URL is that of the client or of the service's own error page.
    """
    try:
        arrival = await _arrival(ctx, sent)
    except OAuthError as error:
        return _refused_here(ctx, error)
    sent.error_url = partial(_error_url, ctx, arrival)
    if arrival.stored is not None:
        return Destination(stored_requests.continue_url(ctx, arrival.client.client_id, arrival.stored.handle))
    try:
        await parameters.checked(ctx, arrival.client, arrival.redirect_uri, arrival.parameters)
    except OAuthError as error:
        return _refused_at_client(ctx, error, arrival)
    # defence: O22 by-get
    handle = await _store(ctx, arrival)
    return Destination(stored_requests.continue_url(ctx, arrival.client.client_id, handle))


async def push(ctx: Context, sent: OAuthParameters) -> tuple[str, timedelta]:
    """Store a request that the client pushes (RFC 9126); return its `request_uri`, and how long that can be used.

    Raises InvalidClient, InvalidRedirectUri, or another OAuthError that says what is wrong with the request.
    """
    client = await authentication.authenticate(ctx, sent)
    if sent.get("request_uri") is not None:
        raise InvalidRequest("request_uri cannot be pushed")
    redirect_uri = _redirect_uri(ctx, client, sent)
    await parameters.checked(ctx, client, redirect_uri, sent)
    handle = await stored_requests.store(
        ctx, RequestKind.AUTHORIZE, client.client_id, parameters.kept(sent), pushed=True
    )
    return stored_requests.request_uri(handle), stored_requests.PUSHED_LIFE


async def of_stored(ctx: Context, stored: StoredRequest) -> AuthorizationRequest | None:
    """Check a stored request again, and return it; None if the client may no longer make it."""
    try:
        client = await _client(ctx, stored.client_id)
        redirect_uri = _redirect_uri(ctx, client, stored.parameters)
        return await parameters.checked(ctx, client, redirect_uri, stored.parameters)
    except OAuthError:
        return None


def client_url(ctx: Context, redirect_uri: str, state: str | None, **parameters: str) -> str:
    """Return the URL that takes a response to the client: `redirect_uri` with parameters, `state` and the issuer.

    The issuer lets the client check who responds (RFC 9207).
    """
    # defence: O4 issuer
    issuer = ctx.policy[OAuthPolicy].issuer
    return urls.with_parameters(redirect_uri, **parameters, state=state, iss=issuer)


async def _arrival(ctx: Context, sent: OAuthParameters) -> Arrival:
    """Return a request with its client and redirect URI. Raises errors that must not be redirected to the client."""
    sent.check()
    client = await _client(ctx, sent.get("client_id"))
    uri = sent.get("request_uri")
    if uri is not None and (uri.startswith(stored_requests.URN) or sent.get("redirect_uri") is None):
        stored = await stored_requests.find(ctx, uri.removeprefix(stored_requests.URN))
        if stored is None or stored.client_id != client.client_id:  # defence: O21 client-of-request
            raise InvalidRequestUri
        # Only what was stored counts, whatever is sent with it.
        redirect_uri = _redirect_uri(ctx, client, stored.parameters)
        return Arrival(client, redirect_uri, stored.parameters, stored)
    return Arrival(client, _redirect_uri(ctx, client, sent), sent)


async def _client(ctx: Context, client_id: str | None) -> ClientRow:
    if client_id is None:
        raise InvalidClient("client_id is missing")
    try:
        client = await documents.read_accepted(ctx, client_id)
    except InvalidMetadata as refused:
        # What is in the document is public. Whether and how another server responds is not.
        host = urlsplit(client_id).hostname
        raise InvalidClient(f"The document at {host} is not accepted: {refused}") from None
    if client is None or client.disabled_at is not None:
        if client_id.startswith(document_metadata.SCHEMES) and ctx.policy[ClientPolicy].client_documents:
            raise InvalidClient("The document at this client_id cannot be read or is not accepted")
        raise InvalidClient("There is no client with this client_id, or it is disabled")
    return client


def _redirect_uri(ctx: Context, client: ClientRow, sent: OAuthParameters) -> str:
    """Return the redirect URI of a request. Raises InvalidRedirectUri unless the client has registered it."""
    wanted = sent.get("redirect_uri")
    registered = client.metadata["redirect_uris"]
    if wanted is None:
        raise InvalidRedirectUri("redirect_uri is missing")
    # defence: O1 registered
    if not redirect_uris.matches(registered, wanted, by_document=client.is_document):
        if ctx.policy[ClientPolicy].is_development:
            raise InvalidRedirectUri(
                received=wanted[:_MOST_SHOWN], registered=" ".join(registered)[:_MOST_SHOWN]
            )
        raise InvalidRedirectUri
    return wanted


async def _store(ctx: Context, arrival: Arrival) -> str:
    values = parameters.kept(arrival.parameters)
    return await stored_requests.store(ctx, RequestKind.AUTHORIZE, arrival.client.client_id, values)


async def _to_page(ctx: Context, arrival: Arrival, step: Step) -> Destination:
    """Return the URL of the page for the next step; the request waits for its user from now on."""
    policy = ctx.policy[OAuthPolicy]
    page = {
        Step.LOGIN: policy.login_page,
        Step.CREATE: policy.create_page,
        Step.SELECT_ACCOUNT: policy.select_account_page,
        Step.CONSENT: policy.consent_page,
    }[step]
    if arrival.stored is None:
        return Destination(stored_requests.page_url(page, await _store(ctx, arrival)))
    await stored_requests.arrive(ctx, arrival.stored)
    return Destination(stored_requests.page_url(page, arrival.stored.handle))


async def _issue_code(
    ctx: Context, asked: AuthorizationRequest, stored: StoredRequest | None, found: Evaluation
) -> Destination:
    """Issue the code of a request, once. Raises AccessDenied if user or session ended meanwhile."""
    caller = ctx.signed_in
    # defence: O7 live-session
    if await locking.lock_with_session(ctx, caller.user.id, caller.session.id) is None:
        raise AccessDenied
    client_id = asked.client.client_id
    # The user may have revoked the consent since it was read.
    if found.needs_consent and not await consents.covers(
        ctx, caller.user.id, client_id, found.scopes, asked.resources
    ):
        raise StaleRead
    if stored is not None and not await stored_requests.take(ctx, stored):  # defence: O21 taken-once
        return _refused_here(ctx, InvalidRequestUri(), client_id)
    code = CODE_PREFIX + tokens.token()
    nonce = None if asked.nonce is None else ctx.cipher.encrypt(NONCE, asked.nonce)
    await ctx.db.execute(
        ADD_CODE,
        code=tokens.digest(code),
        client_id=client_id,
        user_id=caller.user.id,
        session_id=caller.session.id,
        redirect_uri=asked.redirect_uri,
        code_challenge=asked.code_challenge,
        nonce=nonce,
        scopes=" ".join(found.scopes),
        resources=" ".join(asked.resources),
        expires_at=ctx.now + ctx.policy[OAuthPolicy].code_expires_in,
        used_at=None,
        grant_id=None,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    events.code_issued(ctx, client_id, found.scopes)
    return Destination(client_url(ctx, asked.redirect_uri, asked.state, code=code))


def _refused_here(ctx: Context, error: OAuthError, client_id: str | None = None) -> Destination:
    """Return the URL of our own page for an error: the client, or its redirect URI, is not known."""
    events.request_refused(ctx, error.error, client_id)
    description = f"{error.message} (request id {ctx.client.request_id})"
    url = urls.public_url(
        ctx.policy, "/error", error=error.error, error_description=description, **error.details
    )
    return Destination(url, is_refusal=True)


def _refused_at_client(ctx: Context, error: OAuthError, arrival: Arrival) -> Destination:
    """Return the URL of the client for an error."""
    events.request_refused(ctx, error.error, arrival.client.client_id)
    return Destination(_error_url(ctx, arrival, error.error, error.message), is_refusal=True)


def _error_url(ctx: Context, arrival: Arrival, error: str, description: str) -> str:
    state = arrival.parameters.get("state")
    if state is not None and len(state) > LONGEST_STATE:
        state = None
    return client_url(ctx, arrival.redirect_uri, state, error=error, error_description=description)
