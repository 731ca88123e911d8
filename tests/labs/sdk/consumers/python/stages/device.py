"""Devices without a browser, which a user gives access or refuses it; what a device does is not in the SDK."""

import httpx
from client import ROOT, administrator, of, ok, signed_in
from gatewright_client import models
from gatewright_client.api.device import approve, deny, read
from gatewright_client.api.oauth_clients import create, remove


def stage() -> None:
    admin, ada = administrator(), signed_in()
    wanted = models.OAuthClientMetadata(
        client_name="Television",
        token_endpoint_auth_method="none",
        grant_types=["urn:ietf:params:oauth:grant-type:device_code"],
    )
    television = of(create.sync(client=admin, body=wanted), models.OAuthClientWithSecret).client_id
    asked = {"client_id": television, "scope": "openid email"}
    for decide, status in ((approve, "approved"), (deny, "denied")):
        started = httpx.post(f"{ROOT}/device/code", data=asked, trust_env=False)
        user_code = started.raise_for_status().json()["user_code"]
        waiting = of(read.sync(client=ada, user_code=user_code), models.DeviceRequest)
        assert (waiting.client_name, waiting.status) == ("Television", "pending")
        ok(decide.sync(client=ada, body=models.DecideDeviceRequest(user_code=user_code)))
        assert of(read.sync(client=ada, user_code=user_code), models.DeviceRequest).status == status
    again = approve.sync(client=ada, body=models.DecideDeviceRequest(user_code="BBBB-BBBB"))
    assert of(again, models.Error).code == "INVALID_USER_CODE"
    gone = models.DeleteOAuthClientRequest(client_id=television)
    assert of(remove.sync(client=admin, body=gone), models.DeletedOAuthClient).success
