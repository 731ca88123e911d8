"""Sign-in by SAML: the request to the identity provider, its response, and the end of the sign-in.

The response comes as a form from another site, without the cookie of the browser. It is checked and stored, and the
browser is redirected to a URL of this service, where it sends the cookie.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.sessions import sso_origin
from domain.social import authorization_request, callback, events
from domain.social.authorization_request import (
    PAYLOAD,
    AuthorizationRedirect,
    AuthorizationRequest,
    OAuthState,
)
from domain.social.callback import CallbackRefused, CallbackResult
from domain.social.flows import CallbackError
from domain.sso.policy import SsoPolicy
from domain.sso.saml import AuthenticationRequest, ExpectedResponse, SamlRefused, VerifiedAssertion
from domain.sso_sign_in import openid, replay, sign_in, testing
from domain.sso_sign_in.errors import ConnectionChanged
from domain.sso_sign_in.flows import ConnectionFlows, flows_of
from domain.sso_sign_in.person import Person
from domain.sso_sign_in.saml_peers import Peers, peers_of
from domain.sso_sign_in.saml_person import of_assertion
from models import OneTimeToken, Purpose
from models.base import Instant
from models.saml_message import MessageKind
from models.sso_connection import CONNECTION_BY_NAME, ConnectionRow, account_provider
from models.statements import insert

SECONDS = 60
"""The seconds that a checked response is stored until the browser returns with its cookie."""

_LIVE = (
    col(OneTimeToken.digest) == bindparam("state"),
    col(OneTimeToken.purpose) == bindparam("kind"),
    col(OneTimeToken.expires_at) > bindparam("now", type_=Instant()),
)
_FIND = select(col(OneTimeToken.payload)).where(*_LIVE)
# One statement turns the request into its response, so that a request has one response.
_KEEP = (
    update(OneTimeToken)
    .where(*_LIVE)
    .values(
        purpose=Purpose.SSO_RESPONSE.value,
        payload=bindparam("kept"),
        expires_at=bindparam("until", type_=Instant()),
    )
    .returning(col(OneTimeToken.digest))
)


class SentResponse(NamedTuple):
    """A SAML response as the browser has posted it, unchecked."""

    provider_id: str
    message: str
    relay_state: str | None


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """A response that was checked and stored. `finish` finds it by `state`.

    `binding` is the value for the cookie of the browser after a response without a request; otherwise None, because the
    browser got the cookie when the sign-in began.
    """

    state: str = field(repr=False)
    binding: str | None = field(default=None, repr=False)


async def begin(ctx: Context, row: ConnectionRow, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin a sign-in at the identity provider of a connection. Raises ProviderNotFound."""
    peers = peers_of(ctx, row)

    async def url_of(flow: OAuthState, state: str) -> str:
        message = AuthenticationRequest(
            id=request_id(flow),
            relay_state=state,
            force_authentication=request.forces_authentication,
            name_id_format=peers.config.name_id_format,
            is_signed=peers.config.signs_requests,
            login_hint=request.login_hint,
        )
        return peers.messages.request_sign_in(peers.own, peers.provider, message, ctx.now)

    flow = authorization_request.new_flow(replace(request, provider_id=account_provider(row.id)))
    return await authorization_request.begin(ctx, flow, url_of, ctx.policy[SsoPolicy].request_expires_in)


def request_id(flow: OAuthState) -> str:
    """Return the id of the authentication request of a flow, which contains its nonce."""
    return f"_{flow.nonce}"


async def consume(ctx: Context, sent: SentResponse) -> KeptResponse | CallbackResult:
    """Check a response and store its contents for `finish`; return a `CallbackResult` if it is refused."""
    row = await ctx.reads.one(CONNECTION_BY_NAME, sent.provider_id)
    flow = await _flow_of(ctx, ConnectionFlows(row), sent.relay_state)
    flows = flows_of(row, flow)
    refused = flow or _unsolicited(ctx, sent)
    result = await callback.outcome(ctx, flows, refused, flows.provider_id, _check(ctx, flows, flow, sent))
    return result if isinstance(result, KeptResponse) else replace(result, is_used_up=False)


async def _flow_of(ctx: Context, flows: ConnectionFlows, state: str | None) -> OAuthState | None:
    """Return the flow of a state if it waits for a response of this connection."""
    if state is None:
        return None
    found = await ctx.db.execute(
        _FIND, state=tokens.digest(state), kind=Purpose.OAUTH_STATE.value, now=ctx.now
    )
    payload = found.scalar()
    text = None if payload is None else ctx.cipher.decrypt(PAYLOAD, payload)
    flow = None if text is None else authorization_request.deserialize(json.loads(text))
    # defence: SSO5 own-flow
    return flow if flow is not None and flow.provider_id == flows.provider_id else None


async def _check(
    ctx: Context, flows: ConnectionFlows, flow: OAuthState | None, sent: SentResponse
) -> KeptResponse:
    connection = flows.connection
    peers = peers_of(ctx, connection)
    try:
        assertion = _read(ctx, connection, peers, flow, sent.message)
    except SamlRefused as refused:
        raise CallbackRefused(f"saml_{refused.code}") from refused
    content: Mapping[str, Any]
    if flow is not None and flow.tested_by is not None:  # defence: SSO17 saml-test
        content = {"received": testing.of_assertion(assertion, peers.config.names).serialize()}
    else:
        content = {"person": of_assertion(assertion, peers.config.names).serialize()}
    return await _keep(ctx, connection, sent, flow, assertion, content)


def _read(
    ctx: Context, row: ConnectionRow, peers: Peers, flow: OAuthState | None, message: str
) -> VerifiedAssertion:
    policy = ctx.policy[SsoPolicy]
    expected = ExpectedResponse(
        live_requests=() if flow is None else (request_id(flow),),  # defence: SSO5 own-request
        allows_unsolicited=policy.idp_initiated and row.idp_initiated,  # defence: SSO5 both-switches
        skew=policy.clock_skew,
        most_characters=policy.max_response,
    )
    return peers.messages.read_response(message, peers.own, peers.provider, expected, ctx.now)


async def _keep(
    ctx: Context,
    row: ConnectionRow,
    sent: SentResponse,
    flow: OAuthState | None,
    assertion: VerifiedAssertion,
    content: Mapping[str, Any],
) -> KeptResponse:
    if not await replay.is_first_use(
        ctx, row.id, MessageKind.ASSERTION, assertion.id, assertion.replay_until
    ):
        raise CallbackRefused("saml_replay")
    until = ctx.now + timedelta(seconds=SECONDS)
    if assertion.in_response_to is None or flow is None or sent.relay_state is None:
        kept = KeptResponse(tokens.token(), tokens.token())
        await ctx.db.execute(
            insert(OneTimeToken),
            digest=tokens.digest(kept.state),
            purpose=Purpose.SSO_RESPONSE.value,
            binding=tokens.digest(kept.binding or ""),
            payload=_encrypt(ctx, row, _unsolicited(ctx, sent), content),
            attempts=0,
            expires_at=until,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
        return kept
    kept_rows = await ctx.db.execute(
        _KEEP,
        state=tokens.digest(sent.relay_state),
        kind=Purpose.OAUTH_STATE.value,
        now=ctx.now,
        kept=_encrypt(ctx, row, flow, content),
        until=until,
    )
    if not kept_rows:  # Another response to the same request came first.
        raise CallbackRefused(CallbackError.STATE_MISMATCH)
    return KeptResponse(sent.relay_state)


async def finish(ctx: Context, state: str | None, bindings: Sequence[str]) -> CallbackResult:
    """Sign in with the stored response of a state; the cookie values `bindings` must be those of its browser.

    Every outcome is returned, also a failure. Raises Unavailable only before the stored response is consumed.
    """
    if not state:
        return CallbackResult(error=CallbackError.STATE_NOT_FOUND, is_used_up=False)
    kept = None
    if bindings:
        job = partial(
            authorization_request.use_up, state=state, bindings=bindings, purpose=Purpose.SSO_RESPONSE
        )
        kept = await ctx.in_new_transaction(job)
    flow = None if kept is None else authorization_request.deserialize(kept["flow"])
    if kept is None or flow is None:
        events.oauth_state_refused(ctx, "", CallbackError.STATE_MISMATCH)
        return CallbackResult(error=CallbackError.STATE_MISMATCH, is_used_up=False)
    row = await ctx.reads.one(CONNECTION_BY_NAME, kept["connection"])
    flows = flows_of(row, flow)
    result = await callback.outcome(ctx, flows, flow, flow.provider_id, _sign_in(ctx, flows, flow, kept))
    if result.opened is not None and row is not None:
        await openid.note_use(ctx, row)
    return result


async def _sign_in(
    ctx: Context, flows: ConnectionFlows, flow: OAuthState, kept: Mapping[str, Any]
) -> CallbackResult:
    connection = flows.connection
    if sso_origin.fingerprint_of(connection) != kept["fingerprint"]:  # defence: SSO10 kept-unchanged
        raise ConnectionChanged
    if "received" in kept:
        return await testing.finish(ctx, connection, flow, testing.Received.deserialize(kept["received"]))
    job = partial(
        sign_in.sign_in,
        row=connection,
        person=Person.deserialize(kept["person"]),
        request_sign_up=flow.request_sign_up,
    )
    return await callback.complete(ctx, flow, job)


def _unsolicited(ctx: Context, sent: SentResponse) -> OAuthState:
    """Return the flow of a response without a request: it goes on where the provider says, if that is trusted."""
    target = sent.relay_state or ""
    request = AuthorizationRequest(
        provider_id="",
        scopes=(),
        callback_url=target if ctx.policy.origins.accepts(target) else None,
    )
    return authorization_request.new_flow(request)


def _encrypt(ctx: Context, row: ConnectionRow, flow: OAuthState, content: Mapping[str, Any]) -> bytes:
    kept = {
        "connection": row.provider_id,
        "fingerprint": sso_origin.fingerprint_of(row),
        "flow": authorization_request.serialize(flow),
        **content,
    }
    return ctx.cipher.encrypt(PAYLOAD, json.dumps(kept))
