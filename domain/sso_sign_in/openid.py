"""Sign-in through an OpenID connection: the redirect to the provider, and the callback."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from domain.context import Context
from domain.social import authorization_request, callback, id_token_replay
from domain.social.authorization_request import AuthorizationRedirect, AuthorizationRequest, OAuthState
from domain.social.callback import CallbackRequest, CallbackResult
from domain.sso import endpoints
from domain.sso.policy import SsoPolicy
from domain.sso_sign_in import testing
from domain.sso_sign_in.flows import ConnectionFlows, flows_of, provider_of
from models.sso_connection import CONNECTION_BY_NAME, USE_CONNECTION, ConnectionRow, account_provider

USED_EVERY = timedelta(hours=1)
"""The time of the last sign-in is stored at most this often, so that sign-ins do not wait for each other."""


async def begin(ctx: Context, row: ConnectionRow, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin a sign-in at the provider of a connection. Raises ProviderNotFound, ProviderUnavailable."""
    provider = provider_of(ctx, row)

    async def url_of(flow: OAuthState, state: str) -> str:
        back = endpoints.callback_url(ctx.policy, row.provider_id)
        forces = request.forces_authentication
        return await provider.authorization_url(
            authorization_request.params_of(
                flow, state, back, request.login_hint, forces_authentication=forces
            )
        )

    traits = provider.traits
    flow = authorization_request.new_flow(
        replace(request, provider_id=account_provider(row.id)),
        authorization_request.openid_scopes(traits, traits.scopes),
    )
    return await authorization_request.begin(ctx, flow, url_of, ctx.policy[SsoPolicy].request_expires_in)


async def handle_callback(ctx: Context, request: CallbackRequest) -> CallbackResult:
    """Finish a sign-in or a test; `request.provider_id` is the `providerId` of the connection.

    Every outcome is returned, also a failure. Raises Unavailable only before the state is consumed.
    """
    row = await ctx.reads.one(CONNECTION_BY_NAME, request.provider_id)
    own = replace(request, provider_id=ConnectionFlows(row).provider_id)
    flow = await callback.use_state(ctx, own)
    if isinstance(flow, CallbackResult):
        return flow
    flows = flows_of(row, flow)
    if flow.tested_by is not None:  # defence: SSO17 openid-test
        return await callback.outcome(ctx, flows, flow, own.provider_id, _test(ctx, flows, flow, own))
    result = await callback.finish(ctx, flows, flow, own)
    if result.opened is not None and row is not None:
        await note_use(ctx, row)
    return result


async def _test(
    ctx: Context, flows: ConnectionFlows, flow: OAuthState, request: CallbackRequest
) -> CallbackResult:
    provider, params = await callback.check_response(ctx, flows, flow, request)
    proof = await provider.exchange(params, ctx.now)
    # Like that of a sign-in, it never signs in.
    await ctx.in_new_transaction(partial(id_token_replay.use, proof=proof))
    return await testing.finish(ctx, flows.connection, flow, testing.of_claims(ctx, flows.connection, proof))


async def note_use(ctx: Context, row: ConnectionRow) -> None:
    """Store the time of the last sign-in through a connection, unless one was stored within the last hour."""

    async def store(ctx: Context) -> None:
        await ctx.db.execute(USE_CONNECTION, connection_id=row.id, last_used_at=ctx.now)

    if row.last_used_at is None or ctx.now - row.last_used_at >= USED_EVERY:
        await ctx.in_new_transaction(store)
