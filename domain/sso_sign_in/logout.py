"""Sign-out at this service and at the identity provider, in either direction."""

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from domain import tokens
from domain.context import Context
from domain.identity_provider import IdentityRefused
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.sessions import sign_out as session_sign_out
from domain.social.errors import ProviderNotFound, ProviderUnavailable
from domain.social.policy import SocialPolicy
from domain.sso.policy import SsoPolicy
from domain.sso.saml import (
    ExpectedResponse,
    LogoutMessage,
    NameId,
    SamlLogoutRequest,
    SamlLogoutResponse,
    SamlRefusal,
    SamlRefused,
)
from domain.sso_provisioning import signed_out
from domain.sso_sign_in import events, flows, replay
from domain.sso_sign_in.errors import InvalidLogoutToken
from domain.sso_sign_in.saml_peers import Peers, peers_of
from domain.sso_sign_in.sign_in import NAME_ID
from domain.two_factor.policy import TwoFactorPolicy
from domain.users import locking
from models.saml_message import MessageKind
from models.sso_connection import CONNECTION_BY_NAME, ConnectionRow, ConnectionType
from models.sso_session import (
    SESSIONS_OF_INDEX,
    SESSIONS_OF_SUBJECT,
    SSO_SESSION_BY_ID,
    SsoSessionRow,
)


async def sign_out(ctx: Context, provider_id: str, return_to: str | None) -> str | None:
    """End the sessions in the request; return the URL that signs the user out at the provider.

    None if the connection `provider_id` did not open the caller's session, or its provider has no such URL or cannot be
    reached. An OpenID provider redirects the browser to `return_to`, by default to `default_redirect_url` of the
    settings.
    """
    url = await _url(ctx, provider_id, return_to or ctx.policy[SocialPolicy].default_redirect_url)
    await session_sign_out.end_presented(ctx)
    return url


async def _url(ctx: Context, provider_id: str, return_to: str) -> str | None:
    row = await ctx.reads.one(CONNECTION_BY_NAME, provider_id)
    session = await ctx.reads.one(SSO_SESSION_BY_ID, ctx.signed_in.session.id)
    if row is None or session is None or session.connection_id != row.id:
        return None
    try:
        if row.type == ConnectionType.SAML:
            return _saml_url(ctx, peers_of(ctx, row), session)
        return await flows.provider_of(ctx, row).logout_url(return_to)
    except (ProviderNotFound, ProviderUnavailable, ValueError):
        # The session here ends whatever the provider does.
        return None


def _saml_url(ctx: Context, peers: Peers, session: SsoSessionRow) -> str | None:
    text = None if session.name_id is None else ctx.cipher.decrypt(NAME_ID, session.name_id)
    if text is None or peers.provider.logout_url is None or not peers.own.keys:
        return None
    named = json.loads(text)
    request = SamlLogoutRequest(
        id=f"_{tokens.token()}",
        name_id=NameId(named["value"], named["format"]),
        session_indexes=[] if named["index"] is None else [named["index"]],
    )
    return peers.messages.request_logout(peers.own, peers.provider, request, ctx.now)


async def receive_token(ctx: Context, provider_id: str, token: str) -> None:
    """End the sessions that a logout token (OpenID Connect Back-Channel Logout) names.

    Raises InvalidLogoutToken, also for a token that was used before, and ProviderUnavailable.
    """
    row = await ctx.reads.one(CONNECTION_BY_NAME, provider_id)
    try:
        if row is None:
            raise ProviderNotFound
        claims = await flows.provider_of(ctx, row).read_logout_token(token, ctx.now)
    except (ProviderNotFound, IdentityRefused) as refused:
        events.logout_refused(ctx, row, InvalidLogoutToken.code)
        raise InvalidLogoutToken from refused
    if not await replay.is_first_use(ctx, row.id, MessageKind.LOGOUT, claims.token_id, claims.replay_until):
        events.logout_refused(ctx, row, InvalidLogoutToken.code)
        raise InvalidLogoutToken
    await _end(ctx, row, claims.subject, [] if claims.session_id is None else [claims.session_id])


async def receive_message(ctx: Context, provider_id: str, message: LogoutMessage) -> str | None:
    """End the sessions that a SAML logout request names; return the URL that carries the response to the provider.

    None for a message that is refused, was used before, or is a response to a request of this service, and if the
    provider has no logout URL.
    """
    row = await ctx.reads.one(CONNECTION_BY_NAME, provider_id)
    try:
        if row is None:
            raise ProviderNotFound
        peers = peers_of(ctx, row)
        expected = ExpectedResponse(live_requests=(), skew=ctx.policy[SsoPolicy].clock_skew)
        request = peers.messages.read_logout(message, peers.own, peers.provider, expected, ctx.now)
    except ProviderNotFound:
        return None
    except SamlRefused as refused:
        # No request is kept, so every valid response has this code.
        if refused.code is not SamlRefusal.IN_RESPONSE_TO:
            events.logout_refused(ctx, row, f"saml_{refused.code}")
        return None
    until = request.replay_until or ctx.now
    if not await replay.is_first_use(ctx, row.id, MessageKind.LOGOUT, request.id, until):
        events.logout_refused(ctx, row, "saml_replay")
        return None
    await _end(ctx, row, request.name_id.value, request.session_indexes)
    if peers.provider.logout_url is None or not peers.own.keys:
        return None
    response = SamlLogoutResponse(request.id, is_success=True, relay_state=request.relay_state)
    return peers.messages.respond_to_logout(
        peers.own, peers.provider, response, f"_{tokens.token()}", ctx.now
    )


async def _end(ctx: Context, row: ConnectionRow, subject: str | None, indexes: Sequence[str]) -> None:
    """End the sessions of a connection that a subject, sessions at the provider, or both of them name.

    Sign-ins that wait for their second factor end, too.
    """
    await signed_out.store(
        ctx,
        row.id,
        None if subject is None else tokens.digest(subject),
        [tokens.digest(index) for index in indexes],
        ctx.now + ctx.policy[TwoFactorPolicy].challenge_expires_in,
    )
    found: list[set[tuple[str, str]]] = []
    if subject is not None:
        rows = await ctx.db.execute(
            SESSIONS_OF_SUBJECT, connection_id=row.id, subject=tokens.digest(subject), now=ctx.now
        )
        found.append({tuple(each) for each in rows})
    if indexes:
        named = set[tuple[str, str]]()
        for index in indexes:
            rows = await ctx.db.execute(
                SESSIONS_OF_INDEX, connection_id=row.id, session_index=tokens.digest(index), now=ctx.now
            )
            named |= {tuple(each) for each in rows}
        found.append(named)
    # defence: SSO15 both-match
    pairs = sorted(set.intersection(*found)) if found else []
    for user_id, group in groupby(pairs, key=itemgetter(0)):
        await _end_of_user(ctx, user_id, [session_id for _, session_id in group])


async def _end_of_user(ctx: Context, user_id: str, session_ids: Sequence[str]) -> None:
    user = await locking.lock(ctx, user_id)
    if user is None:
        return
    ended = [each for each in session_ids if await sessions.end(ctx, user, each)]
    session_events.sessions_ended_by_provider(ctx, user_id, ended)
