"""Devices that are approved by a code, and get a session or tokens."""

import json
from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_CLIENT = {"token_endpoint_auth_method": "none", "grant_types": [DEVICE_CODE]}
SETTINGS = {
    "oauth.enabled": "true",
    "oauth.device.enabled": "true",
    "oauth.clients": json.dumps(
        {
            "television": {**_CLIENT, "client_name": "Television", "session_sign_in": True},
            "printer": {**_CLIENT, "client_name": "Printer"},
        }
    ),
}


def leg(ada: Traveller) -> Iterator[None]:
    """Approve, refuse and poll devices, as a user of their own."""
    call = ada.witness.call
    made = call(
        "authentication.sign_up_email", {"name": "Dev", "email": "dev@example.com", "password": FIRST}
    )
    session = made.token
    yield
    for client, operation in (("television", "device.sign_in"), ("printer", "oauth.token")):
        for decision in (None, "device.deny", "device.approve"):
            started = call("device.start", {"client_id": client, "scope": "openid email"}).body
            device_code, user_code = started["device_code"], started["user_code"]
            for who in (None, session):
                call("device.read", query={"user_code": user_code}, session=who)
            if decision is not None:
                call(decision, {"userCode": "BBBB-BBBB"}, session=session)
                call(decision, {"userCode": user_code}, session=session)
                yield
            # Another poll comes too early, or finds the code redeemed.
            for _ in range(2):
                call(operation, {"client_id": client, "grant_type": DEVICE_CODE, "device_code": device_code})
            yield
    call("device.sign_in", {"client_id": UNKNOWN, "grant_type": DEVICE_CODE, "device_code": UNKNOWN})
