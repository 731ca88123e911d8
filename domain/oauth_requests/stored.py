"""Stored authorization and logout requests: pushed ones, and those that wait for a decision of their user.

A request is found by its handle, a secret that only the user's browser and the client know. The URLs of the pages for a
request contain the handle, and nothing else about the request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import parse_qs

import orjson

from domain import tokens, urls
from domain.context import Context
from domain.oauth.errors import RequestNotFound
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients.parameters import OAuthParameters
from domain.policy import Policy
from models.oauth_request import (
    ADD_REQUEST,
    ARRIVE,
    NOTE_ON_REQUEST,
    REQUEST_BY_HANDLE,
    TAKE_REQUEST,
    OauthRequestRow,
    RequestKind,
)

PAYLOAD_PURPOSE = "oauth_request.payload"
"""The purpose under which the parameters are encrypted."""

URN = "urn:ietf:params:oauth:request_uri:"
"""The beginning of the URI of a stored request (RFC 9126, 2.2)."""

PUSHED_LIFE = timedelta(seconds=60)
"""How long a pushed request waits for the user's browser."""

_AUTHORIZE = "/oauth2/authorize"
_LONGEST_QUERY = 2048


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A stored request with its handle and its parameters."""

    handle: str
    row: OauthRequestRow
    parameters: OAuthParameters

    @property
    def client_id(self) -> str:
        """The id of the client that has sent the request; empty if it is not known, as for logout requests."""
        return self.row.client_id or ""


async def store(
    ctx: Context,
    kind: RequestKind,
    client_id: str | None,
    values: Mapping[str, Sequence[str]],
    *,
    pushed: bool = False,
) -> str:
    """Store a request with the parameters `values`; return its handle.

    `pushed` means that the client has sent the request itself (RFC 9126): it expires after `PUSHED_LIFE` instead of
    `oauth.request_expires_in`.
    """
    handle = tokens.token()
    life = PUSHED_LIFE if pushed else ctx.policy[OAuthPolicy].request_expires_in
    await ctx.db.execute(
        ADD_REQUEST,
        handle=tokens.digest(handle),
        kind=kind,
        client_id=client_id,
        payload=ctx.cipher.encrypt(PAYLOAD_PURPOSE, orjson.dumps(values).decode()),
        pushed=pushed,
        arrived_at=None if pushed else ctx.now,
        expires_at=ctx.now + life,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    return handle


async def find(ctx: Context, handle: str, kind: RequestKind = RequestKind.AUTHORIZE) -> StoredRequest | None:
    """Return the request with this handle and kind; None if there is none or it has expired.

    It is read outside the transaction.
    """
    if not tokens.is_token(handle):
        return None
    row = await ctx.reads.one(REQUEST_BY_HANDLE, tokens.digest(handle))
    # defence: O21 live-request
    if row is None or row.kind != kind or row.expires_at <= ctx.now:
        return None
    payload = ctx.cipher.decrypt(PAYLOAD_PURPOSE, row.payload)
    # Stored under a secret of the service that was removed since.
    if payload is None:
        return None
    values = {name: tuple(each) for name, each in orjson.loads(payload).items()}
    return StoredRequest(handle, row, OAuthParameters(values))


async def find_in_query(ctx: Context, oauth_query: str) -> StoredRequest | None:
    """Return the authorization request that the query of a page names; None if there is none or it has expired."""
    try:
        named = parse_qs(oauth_query[:_LONGEST_QUERY].removeprefix("?")).get("request", [])
    except ValueError:
        return None
    # Of two it would be ambiguous which one counts.
    return await find(ctx, named[0]) if len(named) == 1 else None


async def read_in_query(ctx: Context, oauth_query: str) -> StoredRequest:
    """Return the authorization request that the query of a page names.

    Raises RequestNotFound if there is none or it has expired.
    """
    found = await find_in_query(ctx, oauth_query)
    if found is None:
        raise RequestNotFound
    return found


async def arrive(ctx: Context, stored: StoredRequest) -> None:
    """Note that the user's browser has arrived with a pushed request: it now lasts `oauth.request_expires_in`.

    Do nothing if the browser has arrived with it before.
    """
    if stored.row.arrived_at is None:
        expires_at = ctx.now + ctx.policy[OAuthPolicy].request_expires_in
        await ctx.db.execute(
            ARRIVE,
            digest=stored.row.handle,
            now=ctx.now,
            arrived_at=ctx.now,
            expires_at=expires_at,
            updated_at=ctx.now,
        )


async def note(ctx: Context, stored: StoredRequest, **columns: str) -> None:
    """Set columns of a stored request. Raises RequestNotFound if it has ended or expired since it was read."""
    noted = await ctx.db.execute(
        NOTE_ON_REQUEST, digest=stored.row.handle, now=ctx.now, updated_at=ctx.now, **columns
    )
    if not noted:
        raise RequestNotFound


async def take(ctx: Context, stored: StoredRequest) -> bool:
    """Delete a stored request; return whether it still existed. Of simultaneous calls only one returns True."""
    taken = await ctx.db.execute(TAKE_REQUEST, digest=stored.row.handle, now=ctx.now)
    return bool(taken)


def request_uri(handle: str) -> str:
    """Return the URI of a stored request."""
    return URN + handle


def continue_url(ctx: Context, client_id: str, handle: str) -> str:
    """Return the URL of the authorization endpoint at which a page continues a stored request."""
    return urls.public_url(ctx.policy, _AUTHORIZE, client_id=client_id, request_uri=request_uri(handle))


def handle_of(policy: Policy, url: str) -> str | None:
    """Return the handle in a URL of `continue_url`; None for any other URL."""
    path, _, query = url.removeprefix(policy.base_url).partition("?")
    if path != f"{policy.base_path}{_AUTHORIZE}":
        return None
    [uri] = parse_qs(query).get("request_uri", [""])[:1]
    return uri.removeprefix(URN) if uri.startswith(URN) else None


def page_url(page: str, handle: str) -> str:
    """Return the URL of a page (`page` is its address) for the stored request with this handle."""
    # The official client sends along, as `oauth_query`, a query with `sig` and the parameters that `ba_param` names.
    # Neither is checked here: the handle is the secret.
    url = urls.with_parameters(page, request=handle)
    return f"{url}&ba_param=request&ba_param=ba_param&sig={tokens.token(16)}"


def began_at(ctx: Context, stored: StoredRequest | None) -> datetime:
    """Return when a request was made; for one that is not stored yet (None), now."""
    return ctx.now if stored is None else stored.row.created_at
