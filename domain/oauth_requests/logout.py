"""Logout that a client asks for (OpenID Connect RP-Initiated Logout 1.0).

If a client sends an ID token of the session in this browser, the session ends at once. Every other request is stored,
and the user is asked on the logout page, so that no page of another site can sign a user out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from domain import urls
from domain.backchannel_logout.session_ids import sids_of
from domain.context import Context
from domain.jwt.signing_keys import SigningKeys
from domain.oauth.errors import RequestNotFound
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients import clients, redirect_uris
from domain.oauth_clients.errors import InvalidRequest
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_requests import stored as stored_requests
from domain.oauth_requests.stored import StoredRequest
from domain.pages.policy import PagesPolicy
from domain.sessions.sign_out import end_presented
from models.oauth_client import ClientRow
from models.oauth_request import RequestKind

_KEPT = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "logout_hint", "ui_locales")
"""The parameters of a request (2)."""


class Next(NamedTuple):
    """The URL to which the browser is redirected, and whether its session was ended."""

    url: str
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class LogoutRequest:
    """A logout request about which the user is asked. `client` is None if it is not known."""

    client: ClientRow | None
    return_url: str | None
    """The URL to which the browser returns: one that the client has registered, with `state`. None without one."""
    logout_hint: str | None
    ui_locales: str | None
    created_at: datetime


class _Hint(NamedTuple):
    client: ClientRow
    sid: str


async def begin(ctx: Context, parameters: OAuthParameters) -> Next:
    """End the session of the browser if the request has an ID token of this session; otherwise ask the user.

    Return the URL of the client after the logout, or that of the logout page; that of the error page if the request is
    malformed, or names a stored request that does not exist.
    """
    if parameters.fault is not None:
        return Next(_error_url(ctx))
    handle = parameters.get("request")
    stored = None if handle is None else await stored_requests.find(ctx, handle, RequestKind.LOGOUT)
    if handle is not None and stored is None:
        return Next(_error_url(ctx))
    values = _values(parameters if stored is None else stored.parameters)
    hint = await _verified_hint(ctx, values)
    # Nothing ends by a GET without a proof: an image of any page can cause one.
    # defence: O18 proof
    if hint is None or not _is_of_current(ctx, hint):
        return Next(_page_url(ctx, values, request=handle or await _store(ctx, values)))
    if stored is not None:
        await stored_requests.take(ctx, stored)
    url = _return_url(hint.client, values) or _page_url(ctx, values, done="true")
    if ctx.caller is None:
        return Next(url)
    await end_presented(ctx)
    return Next(url, has_ended=True)


async def store(ctx: Context, parameters: OAuthParameters) -> Next:
    """Store a logout request that was sent by POST, and return the URL that continues it by GET.

    Browsers send no session cookie with a POST from another site. If the request is malformed, the URL is that of the
    error page.
    """
    if parameters.fault is not None:
        return Next(_error_url(ctx))
    handle = await _store(ctx, _values(parameters))
    return Next(urls.with_parameters(f"{_issuer(ctx)}/oauth2/end-session", request=handle))


async def read(ctx: Context, handle: str) -> LogoutRequest:
    """Return the stored logout request with this handle. Raises RequestNotFound if there is none or it has expired."""
    stored = await _stored(ctx, handle)
    values = _values(stored.parameters)
    client = await _client(ctx, values)
    return LogoutRequest(
        client=client,
        return_url=None if client is None else _return_url(client, values),
        logout_hint=values.get("logout_hint"),
        ui_locales=values.get("ui_locales"),
        created_at=stored.row.created_at,
    )


async def confirm(ctx: Context, handle: str, *, accept: bool) -> Next:
    """Use up a stored logout request; sign the browser out if the user accepts the request.

    Return the URL to go to: that of the client or the logout page after a logout, else the start page of the service.
    Raises RequestNotFound.
    """
    stored = await _stored(ctx, handle)
    if not await stored_requests.take(ctx, stored):
        raise RequestNotFound
    if not accept:
        return Next(_home_url(ctx))
    values = _values(stored.parameters)
    client = await _client(ctx, values)
    url = None if client is None else _return_url(client, values)
    await end_presented(ctx)
    return Next(url or _page_url(ctx, values, done="true"), has_ended=True)


def _values(parameters: OAuthParameters) -> Mapping[str, str]:
    return {name: value for name in _KEPT if (value := parameters.get(name)) is not None}


async def _verified_hint(ctx: Context, values: Mapping[str, str]) -> _Hint | None:
    """Return the client and session of an ID token of ours, however old, if it is that of the named client."""
    token = values.get("id_token_hint")
    if token is None:
        return None
    claims = await ctx.port[SigningKeys].verify(token, ctx.now, ignore_expiry=True) or {}
    audience, sid = claims.get("aud"), claims.get("sid")
    if claims.get("iss") != _issuer(ctx) or not isinstance(audience, str) or not isinstance(sid, str):
        return None
    if values.get("client_id", audience) != audience:  # defence: O18 audience
        return None
    client = await clients.find(ctx, audience)
    return None if client is None else _Hint(client, sid)


def _is_of_current(ctx: Context, hint: _Hint) -> bool:
    """Return whether a hint is about the session of this browser, or the browser has none."""
    if ctx.caller is None:
        return True
    # Not the user alone: they may have signed in again in this browser, and elsewhere.
    # defence: O18 current-session
    return hint.sid in sids_of(ctx.cipher, hint.client.client_id, ctx.caller.session.id)


async def _client(ctx: Context, values: Mapping[str, str]) -> ClientRow | None:
    """Return the client of a request: that of its hint, or that it names."""
    hint = await _verified_hint(ctx, values)
    if hint is not None:
        return hint.client
    client_id = values.get("client_id")
    return None if client_id is None else await clients.find(ctx, client_id)


def _return_url(client: ClientRow, values: Mapping[str, str]) -> str | None:
    """Return the URL to go to, if the client has registered it."""
    url = values.get("post_logout_redirect_uri")
    registered = client.metadata.get("post_logout_redirect_uris") or ()
    # defence: O18 registered-return
    if url is None or not redirect_uris.matches(registered, url, by_document=client.is_document):
        return None
    return urls.with_parameters(url, state=values.get("state"))


async def _store(ctx: Context, values: Mapping[str, str]) -> str:
    """Store a request; return its handle."""
    return await stored_requests.store(
        ctx, RequestKind.LOGOUT, None, {name: [value] for name, value in values.items()}
    )


async def _stored(ctx: Context, handle: str) -> StoredRequest:
    """Return a stored request. Raises RequestNotFound."""
    found = await stored_requests.find(ctx, handle, RequestKind.LOGOUT)
    if found is None:
        raise RequestNotFound
    return found


def _page_url(ctx: Context, values: Mapping[str, str], **query: str) -> str:
    """Return the URL of the logout page in the languages that the client asks for."""
    return urls.with_parameters(
        ctx.policy[OAuthPolicy].logout_page, **query, ui_locales=values.get("ui_locales")
    )


def _error_url(ctx: Context) -> str:
    description = f"{InvalidRequest.message} (request id {ctx.client.request_id})"
    return urls.public_url(ctx.policy, "/error", error=InvalidRequest.error, error_description=description)


def _home_url(ctx: Context) -> str:
    """Return where users of this service are at home."""
    pages = ctx.policy[PagesPolicy]
    home = pages.home_url or (f"{ctx.policy.base_path}{pages.path}" if pages.enabled else "/")
    return ctx.policy.base_url + home if home.startswith("/") else home


def _issuer(ctx: Context) -> str:
    return ctx.policy[OAuthPolicy].issuer
