"""The operations of openapi/paths/device.yaml: sign-in on devices without a browser (RFC 8628)."""

from domain.context import Context
from domain.device import redemption, requests
from domain.oauth_clients.parameters import OAuthParameters
from handlers import shapes, wire


# device.start
async def start(ctx: Context, parameters: OAuthParameters) -> shapes.StartedDevice:
    """Start a request for access by a device; return the codes with which the device and the user continue."""
    started = await requests.start(ctx, parameters)
    shape: shapes.StartedDevice = {
        "device_code": started.device_code,
        "user_code": started.user_code,
        "verification_uri": started.verification_uri,
        "expires_in": started.expires_in,
        "interval": started.interval,
    }
    if started.verification_uri_complete is not None:
        shape["verification_uri_complete"] = started.verification_uri_complete
    return shape


# device.sign_in
async def sign_in(ctx: Context, parameters: OAuthParameters) -> shapes.DeviceSession:
    """Return a session for a device whose request a user has approved."""
    opened, scopes = await redemption.sign_in(ctx, parameters)
    return {
        "access_token": opened.token,
        "token_type": "Bearer",
        "expires_in": int((opened.session.expires_at - ctx.now).total_seconds()),
        "scope": scopes,
    }


# device.read
async def read(ctx: Context, user_code: str) -> shapes.DeviceRequest:
    """Return the status of a device's request, and its details if the caller has a session."""
    known = await requests.read(ctx, user_code)
    row = known.row
    shape: shapes.DeviceRequest = {"user_code": user_code, "status": known.status.value}
    # defence: O19 details
    if ctx.caller is not None:
        shape |= {
            "client_id": row.client_id,
            "client_name": known.client.client_name,
            "scope": row.scopes,
            "resource": row.resources.split(),
            "network": row.network,
            "userAgent": row.user_agent,
            "createdAt": wire.instant(row.created_at),
        }
    return shape


# device.approve
async def approve(ctx: Context, body: shapes.DecideDeviceRequest) -> shapes.Success:
    """Approve the request of a device in the name of the caller."""
    await requests.approve(ctx, body["userCode"])
    return {"success": True}


# device.deny
async def deny(ctx: Context, body: shapes.DecideDeviceRequest) -> shapes.Success:
    """Deny the request of a device."""
    await requests.deny(ctx, body["userCode"])
    return {"success": True}
