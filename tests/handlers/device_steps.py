"""Steps of devices and of the users who approve them."""

from typing import Any

import httpx

from domain.oauth_clients.metadata import DEVICE_CODE
from tests.conftest import Headers
from tests.handlers.steps import refusal
from tests.oauth import OAuthTestClient, add_public_client
from tests.service import Service

CODE, TOKEN, DEVICE, APPROVE, DENY = (
    "/device/code",
    "/device/token",
    "/device",
    "/device/approve",
    "/device/deny",
)
WRONG_CODE = "BBBB-BBBB"
"""Of the form of a user code, and none; one of 25 thousand millions."""


async def add_television(service: Service, *, gets_session: bool = True, **members: Any) -> OAuthTestClient:
    """Enter an application for devices; `gets_session` if it is the operator's own."""
    television: dict[str, Any] = {
        "client_name": "Television",
        "redirect_uris": [],
        "grant_types": [DEVICE_CODE],
        "session_sign_in": gets_session,
    }
    return await add_public_client(service, **{**television, **members})


async def start(service: Service, client: OAuthTestClient, **parameters: str) -> dict[str, Any]:
    """Get the codes of a device, by a form."""
    answer = await service.client.post(CODE, data={**client.form, "scope": "openid email", **parameters})
    assert answer.status_code == 200, answer.text
    shape: dict[str, Any] = answer.json()
    return shape


async def poll(service: Service, client: OAuthTestClient, device_code: str) -> httpx.Response:
    """Ask for the session of a device."""
    body = {"grant_type": DEVICE_CODE, "device_code": device_code, "client_id": client.client_id}
    return await service.post(TOKEN, body)


async def redeem(
    service: Service, client: OAuthTestClient, device_code: str, **parameters: str
) -> httpx.Response:
    """Ask for the tokens of a device."""
    form = {**client.form, "grant_type": DEVICE_CODE, "device_code": device_code, **parameters}
    return await service.client.post("/oauth2/token", data=form)


async def decide(service: Service, user_code: str, headers: Headers, path: str = APPROVE) -> httpx.Response:
    """Approve or deny a device."""
    return await service.post(path, {"userCode": user_code}, headers=headers)


async def approve(service: Service, user_code: str, headers: Headers) -> None:
    """Approve a device."""
    answer = await decide(service, user_code, headers)
    assert (answer.status_code, answer.json()) == (200, {"success": True}), answer.text


def error(answer: httpx.Response) -> str:
    """Return status and name of an error of the protocol, as in `400 slow_down`; of a success only the status."""
    if answer.status_code == 200:
        return "200"
    body = answer.json()
    assert list(body) == ["error", "error_description"], body
    return f"{answer.status_code} {body['error']}"


def member_error(answer: httpx.Response) -> tuple[str, str]:
    """Return code and `error` of a refused user code; the description repeats the message."""
    _, code, message = refusal(answer)
    assert answer.json()["error_description"] == message
    return code, answer.json()["error"]
