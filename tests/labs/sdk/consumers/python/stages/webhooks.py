"""Endpoints of webhooks, and what is sent to them."""

import json
import os

from client import PASSWORD, holding, nobody, of
from gatewright_client import models
from gatewright_client.api.authentication import sign_in_email
from gatewright_client.api.webhooks import (
    create,
    deliveries,
    get_delivery,
    list_,
    redeliver,
    remove,
    rotate_secret,
    send_test,
    update,
)

URL = "http://127.0.0.1:9/hook"


def stage() -> None:
    body = models.SignInEmailRequest(email=os.environ["ADMIN_EMAIL"], password=PASSWORD)
    admin = holding(of(sign_in_email.sync(client=nobody, body=body), models.SignInAnswer).token)
    wanted = models.CreateWebhookEndpointRequest(name="crm", url=URL, events=["webhook.test"])
    made = of(create.sync(client=admin, body=wanted), models.CreatedWebhookEndpoint)
    assert made.secret.startswith("whsec_")
    found = list_.sync(client=admin)
    assert isinstance(found, list)
    assert [one.id for one in found] == [made.endpoint.id]
    changes = models.UpdateWebhookEndpointRequest(id=made.endpoint.id, name="billing")
    assert of(update.sync(client=admin, body=changes), models.OneWebhookEndpoint).endpoint.name == "billing"
    rotated = rotate_secret.sync(client=admin, body=models.RotateWebhookSecretRequest(id=made.endpoint.id))
    assert of(rotated, models.RotatedWebhookSecret).secret != made.secret
    test = send_test.sync(client=admin, body=models.SendTestWebhookRequest(id=made.endpoint.id))
    delivery = of(test, models.QueuedDelivery).delivery_id
    page = of(deliveries.sync(client=admin, endpoint_id=made.endpoint.id, limit=5), models.DeliveryPage)
    assert [(one.id, one.type_) for one in page.deliveries] == [(delivery, "webhook.test")]
    whole = get_delivery.sync(client=admin, endpoint_id=made.endpoint.id, delivery_id=delivery)
    payload = of(whole, models.DeliveryWithPayload).payload
    assert isinstance(payload, str)
    assert json.loads(payload)["type"] == "webhook.test"
    again = redeliver.sync(client=admin, body=models.RedeliverRequest(delivery_id=delivery))
    assert of(again, models.QueuedDelivery).delivery_id != delivery
    gone = remove.sync(client=admin, body=models.DeleteWebhookEndpointRequest(id=made.endpoint.id))
    assert of(gone, models.DeletedWebhookEndpoint).success
    refused = send_test.sync(client=admin, body=models.SendTestWebhookRequest(id=made.endpoint.id))
    assert of(refused, models.Error).code == "ENDPOINT_NOT_FOUND"
