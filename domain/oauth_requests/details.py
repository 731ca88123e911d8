"""What the pages of an authorization request show about the request and its client."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from domain.context import Context
from domain.oauth.errors import RequestNotFound
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients import clients
from domain.oauth_clients.errors import ClientNotFound
from domain.oauth_requests import authorization
from domain.oauth_requests import stored as stored_requests
from domain.oauth_requests.evaluation import LoginReason, login_reason
from domain.oauth_requests.parameters import AuthorizationRequest
from models.oauth_client import ClientRow
from models.oauth_consent import CONSENTS_OF_USER


@dataclass(frozen=True, slots=True)
class RequestDetails:
    """An authorization request as its pages show it."""

    asked: AuthorizationRequest
    redirect_host: str
    """Where the browser is redirected in the end: the host, or an application's own URI scheme."""
    reason: LoginReason | None
    """Why the user has to sign in, or None if they need not."""
    created_at: datetime
    continue_url: str
    """The URL of the authorization endpoint at which the pages continue the request."""


async def read(ctx: Context, handle: str) -> RequestDetails:
    """Return the authorization request with this handle. Raises RequestNotFound if there is none or it has expired."""
    stored = await stored_requests.find(ctx, handle)
    asked = None if stored is None else await authorization.of_stored(ctx, stored)
    if stored is None or asked is None:
        raise RequestNotFound
    return RequestDetails(
        asked=asked,
        redirect_host=host_of(asked.redirect_uri),
        reason=await login_reason(ctx, asked, stored),
        created_at=stored.row.created_at,
        continue_url=stored_requests.continue_url(ctx, stored.client_id, handle),
    )


async def forces_authentication(ctx: Context, continue_url: str | None) -> bool:
    """Return whether the request that a URL continues asks for a new or recent authentication of its user.

    If so, an identity provider must be asked to authenticate the user again, because it would otherwise accept a user
    who has a session there. False if the URL continues no authorization request.
    """
    handle = stored_requests.handle_of(ctx.policy, continue_url or "")
    if handle is None or not ctx.policy[OAuthPolicy].enabled:
        return False
    try:
        asked = (await read(ctx, handle)).asked
    except RequestNotFound:
        return False  # Its user learns of the end when they continue.
    return "login" in asked.prompt or asked.max_age is not None


def host_of(url: str) -> str:
    """Return the host of a redirect URI, or its scheme if it is an application's own and has no host."""
    parts = urlsplit(url)
    return parts.hostname or parts.scheme


def document_host(client: ClientRow) -> str | None:
    """Return the host of the client's metadata document; None if the client has none."""
    return host_of(client.client_id) if client.is_document else None


async def has_consented(ctx: Context, client_id: str) -> bool:
    """Return whether the caller has a stored consent to the client."""
    consents = await ctx.reads.all(CONSENTS_OF_USER, ctx.signed_in.user.id)
    return any(one.client_id == client_id for one in consents)


async def client(ctx: Context, client_id: str) -> ClientRow:
    """Return the client with this id, as a page shows it.

    Raises ClientNotFound if there is none, if it is disabled, or if it has a metadata document and such documents are
    no longer accepted.
    """
    found = await clients.find(ctx, client_id)
    if found is None:
        raise ClientNotFound
    return found


async def client_before_login(ctx: Context, client_id: str, oauth_query: str) -> ClientRow:
    """Return a client for a page that needs no session. Raises ClientNotFound.

    `oauth_query`, the query of the page, must name an authorization request of this client that has not expired.
    """
    stored = await stored_requests.find_in_query(ctx, oauth_query)
    if stored is None or stored.client_id != client_id:
        raise ClientNotFound
    return await client(ctx, client_id)
