"""Endpoints of webhooks, and what is sent to them."""

import base64
import json
from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller

OWN = "whsec_" + base64.b64encode(b"a secret of one's own, in bytes").decode()
CONFIGURED = "whsec_" + base64.b64encode(b"a secret of the configuration!").decode()
URL = "http://127.0.0.1:9/hook"
"""Where nothing listens."""
SETTINGS = {
    "webhooks.enabled": "true",
    "webhooks.management": "admin",
    "webhooks.endpoints": json.dumps({"crm": {"url": URL, "events": ["webhook.test"], "secret": CONFIGURED}}),
}
SECRETS = (CONFIGURED, OWN)


def leg(ada: Traveller) -> Iterator[None]:
    """As an administrator; without one, as nobody special."""
    call = ada.witness.call
    made = call(
        "authentication.sign_up_email", {"name": "Hal", "email": "hal@example.com", "password": FIRST}
    )
    ada.promote("hal@example.com")
    session = made.token
    yield
    new = {"name": "billing", "url": URL, "events": ["webhook.*"]}
    for body in (
        new,
        {**new, "secret": OWN},
        {**new, "url": "https://10.0.0.1/"},
        {**new, "events": ["user"]},
    ):
        call("webhooks.create", body, session=session)
    made = call("webhooks.create", new, session=session)
    endpoint = {"id": made.body["endpoint"]["id"] if "endpoint" in made.body else UNKNOWN}
    call("webhooks.list", session=session)
    for each in (endpoint, {"id": UNKNOWN}):
        call("webhooks.update", {**each, "name": "books"}, session=session)
        call("webhooks.rotate_secret", {**each, "secret": OWN}, session=session)
        call("webhooks.send_test", each, session=session)
    yield
    answer = call("webhooks.send_test", endpoint, session=session)
    delivery = answer.body.get("deliveryId", UNKNOWN)
    call("webhooks.deliveries", session=session, query={"endpointId": endpoint["id"]})
    for one in (delivery, UNKNOWN):
        query = {"endpointId": endpoint["id"], "deliveryId": one}
        call("webhooks.get_delivery", session=session, query=query)
    call("webhooks.redeliver", {"deliveryId": delivery}, session=session)
    call("webhooks.redeliver", {"deliveryId": UNKNOWN}, session=session)
    yield
    for each in (endpoint, {"id": UNKNOWN}):
        call("webhooks.remove", each, session=session)
    yield
