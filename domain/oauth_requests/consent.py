"""What users do on the pages of an authorization request: select an account, consent, or refuse."""

from collections.abc import Sequence

from domain.context import Context
from domain.oauth import consents
from domain.oauth.errors import InvalidConsentScope, RequestNotFound
from domain.oauth_clients.errors import AccessDenied
from domain.oauth_requests import authorization, events
from domain.oauth_requests import stored as stored_requests
from domain.oauth_requests.evaluation import login_reason
from domain.oauth_requests.parameters import AuthorizationRequest
from domain.oauth_requests.stored import StoredRequest
from domain.sessions.errors import SessionNotFresh
from domain.users import locking


async def continue_request(ctx: Context, oauth_query: str, *, selected: bool, created: bool) -> str:
    """Store what the caller has done for an authorization request; return the URL that continues it.

    `selected`: the caller has selected their account; `created`: they have just signed up. `oauth_query` is the query
    of the page, which names the request. Raises RequestNotFound.
    """
    stored = await stored_requests.read_in_query(ctx, oauth_query)
    noted = {"selected_by": selected, "created_by": created}
    columns = {column: ctx.signed_in.session.id for column, is_so in noted.items() if is_so}
    if columns:
        await stored_requests.note(ctx, stored, **columns)
    return stored_requests.continue_url(ctx, stored.client_id, stored.handle)


async def consent(ctx: Context, oauth_query: str, scope: str | None) -> str:
    """Store the caller's consent to an authorization request; return the URL that continues the request.

    `scope` has the allowed scopes, separated by spaces; None allows all that the client asks for. `oauth_query` is the
    query of the page, which names the request. Raises RequestNotFound, InvalidConsentScope; SessionNotFresh if the
    request requires that the user signs in again; Unauthenticated if the session has ended.
    """
    stored, asked = await _read(ctx, oauth_query)
    scopes = asked.scopes if scope is None else _chosen(asked, scope)
    caller = ctx.signed_in
    await locking.lock_caller(ctx)
    # The consent counts for this session alone, not for another one that comes with the same request.
    await stored_requests.note(ctx, stored, consent_by=caller.session.id, consent_scopes=" ".join(scopes))
    await consents.add(ctx, caller.user.id, stored.client_id, scopes, asked.resources)
    events.consent_granted(ctx, stored.client_id, scopes)
    return stored_requests.continue_url(ctx, stored.client_id, stored.handle)


async def refuse(ctx: Context, oauth_query: str) -> str:
    """Delete an authorization request that the caller refuses; return the client's URL with the error `access_denied`.

    Raises RequestNotFound; SessionNotFresh if the request requires that the user signs in again.
    """
    stored, asked = await _read(ctx, oauth_query)
    if not await stored_requests.take(ctx, stored):
        raise RequestNotFound
    events.consent_denied(ctx, stored.client_id)
    return authorization.client_url(
        ctx,
        asked.redirect_uri,
        asked.state,
        error=AccessDenied.error,
        error_description=AccessDenied.message,
    )


async def _read(ctx: Context, oauth_query: str) -> tuple[StoredRequest, AuthorizationRequest]:
    """Return a request that the caller may decide on. Raises RequestNotFound, SessionNotFresh."""
    stored = await stored_requests.read_in_query(ctx, oauth_query)
    asked = await authorization.of_stored(ctx, stored)
    if asked is None:
        raise RequestNotFound
    # The client wants the user to sign in again, or wants another user.
    if await login_reason(ctx, asked, stored) is not None:  # defence: O5 fresh-consent
        raise SessionNotFresh
    return stored, asked


def _chosen(asked: AuthorizationRequest, scope: str) -> Sequence[str]:
    """Return some of the scopes of a request, in its order. Raises InvalidConsentScope."""
    chosen = set(scope.split(" "))
    # defence: O5 subset
    if not chosen <= set(asked.scopes) or ("openid" in asked.scopes and "openid" not in chosen):
        raise InvalidConsentScope
    return [one for one in asked.scopes if one in chosen]
