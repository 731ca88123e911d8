"""Exchange the device code of an approved request for tokens or for a session."""

from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.context import Context
from domain.device import events, polling
from domain.oauth import access, grants, tokens
from domain.oauth.engine import Presented, TokenEngine
from domain.oauth.grant_types import grant_type
from domain.oauth.policy import DevicePolicy
from domain.oauth.tokens import Issue, TokenResponse
from domain.oauth_clients import authentication
from domain.oauth_clients.errors import AccessDenied, UnsupportedGrantType
from domain.oauth_clients.metadata import DEVICE_CODE
from domain.oauth_clients.parameters import OAuthParameters
from domain.sessions import sso_origin
from domain.sessions.sessions import OpenedSession
from domain.sso_enforcement.errors import SsoRequired
from domain.users.errors import BannedUser, EmailNotVerified
from models.oauth_client import ClientRow


@grant_type(DEVICE_CODE)
async def redeem(ctx: Context, client: ClientRow, parameters: OAuthParameters) -> TokenResponse:
    """Return the tokens for a device code, which is used up (RFC 8628, 3.4).

    Raises UnsupportedGrantType, InvalidRequest, InvalidTarget, InvalidScope, Unavailable, AuthorizationPending,
    SlowDown, ExpiredToken, AccessDenied, UnauthorizedClient, InvalidGrant.
    """
    if not ctx.policy[DevicePolicy].enabled:
        raise UnsupportedGrantType
    device_code = parameters.require("device_code")
    row, user, session = await polling.poll(ctx, client, device_code, for_session=False)
    scopes = ctx.port[TokenEngine](client, parameters, Presented(row.scopes))
    resources = row.resources.split()
    selected = access.select(ctx, client, parameters.every("resource"), scopes=scopes, resources=resources)
    grant = await grants.add(ctx, client, session, scopes=scopes, resources=row.resources)
    wanted = Issue(DEVICE_CODE, grant, user, scopes, selected, session_expires_at=session.expires_at)
    return await tokens.issue(ctx, client, wanted)


async def sign_in(ctx: Context, parameters: OAuthParameters) -> tuple[OpenedSession, str]:
    """Sign in a device whose request was approved; return the new session, and the scopes that the device asked for.

    The device code is used up. Raises InvalidRequest, InvalidClient, UnsupportedGrantType, AuthorizationPending,
    SlowDown, ExpiredToken, AccessDenied (also if the user may not sign in), UnauthorizedClient, InvalidGrant.
    """
    client = await authentication.authenticate(ctx, parameters)
    if parameters.require("grant_type") != DEVICE_CODE:
        raise UnsupportedGrantType
    device_code = parameters.require("device_code")
    row, user, session = await polling.poll(ctx, client, device_code, for_session=True)
    # A session that begins with one of a connection ends with it.
    origin = await sso_origin.of_session(ctx, session)  # defence: SSO15 device-origin
    options = SignInOptions(
        remembered=True,
        callback_url=None,
        method=events.DEVICE.name,
        # The session that has approved passed the gate with its second factor.
        asks_second_factor=False,
        amr=session.amr,
        details={"client": client.client_id},
        origin=origin,
    )
    try:
        opened = await gate.complete_sign_in(ctx, user, options)
    except (BannedUser, EmailNotVerified, SsoRequired):
        raise AccessDenied from None
    assert isinstance(opened, OpenedSession), "the gate asks for no second factor here"  # noqa: S101
    return opened, row.scopes
