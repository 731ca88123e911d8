"""Continue an OAuth authorization request after a sign-in, so that the user returns to the client that sent it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

from domain.context import Context
from domain.oauth.policy import OAuthPolicy
from domain.oauth_requests import stored as stored_requests
from handlers.responses.reply import Redirect, Reply

Handler = Callable[..., Awaitable[Any]]

FIELD = "oauth_query"
"""The field, in the body or the query of an operation, with the query of the page, which names the request."""


def continuing(handler: Handler) -> Handler:
    """Return the handler of an operation that signs in, extended so that the user continues an authorization request.

    If `oauth_query` names a live request and the response has a session, the URL that continues the request replaces
    the URL of the response. Other responses are unchanged.
    """

    @wraps(handler)
    async def run(ctx: Context, **arguments: Any) -> Any:
        url = await url_of(ctx, arguments.get("body", arguments))
        result = await handler(ctx, **arguments)
        return result if url is None else _continued(result, url)

    return run


async def url_of(ctx: Context, fields: Mapping[str, Any]) -> str | None:
    """Return the URL that continues the authorization request named by the field `oauth_query`.

    None if the field is absent, the request is not live, or OAuth is off.
    """
    oauth_query = fields.get(FIELD)
    if not oauth_query or not ctx.policy[OAuthPolicy].enabled:
        return None
    # Before the rule, and outside its transaction: no request holds two connections.
    stored = await stored_requests.find_in_query(ctx, oauth_query)
    return None if stored is None else stored_requests.continue_url(ctx, stored.client_id, stored.handle)


def _continued(result: Any, url: str) -> Any:
    """Return the result with the URL, if it opens a session; other results are unchanged."""
    if isinstance(result, Reply) and result.opens_session:
        return replace(result, body={**result.body, "redirect": True, "url": url})
    if isinstance(result, Redirect) and result.opens_session:
        return replace(result, location=url)
    return result
