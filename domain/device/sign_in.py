"""Sign-in on a device by the approval of a signed-in user."""

from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.context import Context
from domain.device import events, polling
from domain.oauth_clients import authentication
from domain.oauth_clients.errors import AccessDenied, UnsupportedGrantType
from domain.oauth_clients.metadata import DEVICE_CODE
from domain.oauth_clients.parameters import OAuthParameters
from domain.sessions.sessions import OpenedSession
from domain.users.errors import BannedUser, EmailNotVerified
from models.session import FIND_SESSION_AMR


async def sign_in(ctx: Context, parameters: OAuthParameters) -> tuple[OpenedSession, str]:
    """Return the session of a device whose request was approved, and the scopes that it asked for.

    Raises InvalidRequest, InvalidClient, UnsupportedGrantType, and the errors of `polling.poll`.
    """
    client = await authentication.authenticate(ctx, parameters)
    if parameters.require("grant_type") != DEVICE_CODE:
        raise UnsupportedGrantType
    device_code = parameters.require("device_code")
    approval = await polling.poll(ctx, client, device_code, for_session=True)
    amr = (await ctx.db.execute(FIND_SESSION_AMR, id=approval.session_id)).scalar()
    options = SignInOptions(
        remembered=True,
        callback_url=None,
        method=events.DEVICE.name,
        # The session that has approved passed the gate with its second factor.
        asks_second_factor=False,
        amr=amr,
        details={"client": client.client_id},
    )
    try:
        opened = await gate.complete_sign_in(ctx, approval.user, options)
    except (BannedUser, EmailNotVerified):
        raise AccessDenied from None
    assert isinstance(opened, OpenedSession), "the gate asks for no second factor here"  # noqa: S101
    return opened, approval.row.scopes
