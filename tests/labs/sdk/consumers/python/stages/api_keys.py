"""API keys."""

import os

from client import holding, of, ok, signed_in
from gatewright_client import models
from gatewright_client.api.api_keys import create as create_key
from gatewright_client.api.api_keys import delete as delete_key
from gatewright_client.api.api_keys import get as get_key
from gatewright_client.api.api_keys import list_own
from gatewright_client.api.api_keys import update as update_key
from gatewright_client.api.api_keys import verify as verify_key


def stage() -> None:
    ada, service = signed_in(), holding(os.environ["VERIFIER"])
    made = of(create_key.sync(client=ada, body=models.CreateApiKeyRequest(name="ci")), models.CreatedApiKey)
    assert of(get_key.sync(client=ada, id=made.id), models.ApiKey).start == made.start
    assert of(list_own.sync(client=ada, limit=10), models.ApiKeyPage).total == 1
    asked = models.VerifyApiKeyRequest(key=made.key)
    verdict = of(verify_key.sync(client=service, body=asked), models.ApiKeyVerdict)
    assert verdict.valid
    assert of(verdict.key, models.ApiKey).id == made.id
    ok(update_key.sync(client=ada, body=models.UpdateApiKeyRequest(key_id=made.id, enabled=False)))
    refused = of(verify_key.sync(client=service, body=asked), models.ApiKeyVerdict)
    assert of(refused.error, models.ApiKeyRefusal).code == "KEY_DISABLED"
    ok(delete_key.sync(client=ada, body=models.DeleteApiKeyRequest(key_id=made.id)))
    assert of(get_key.sync(client=ada, id=made.id), models.Error).code == "KEY_NOT_FOUND"
