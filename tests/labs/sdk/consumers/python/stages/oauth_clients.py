"""Clients of the OAuth provider, managed by an administrator."""

from client import administrator, of
from gatewright_client import models
from gatewright_client.api.oauth_clients import (
    create,
    list_,
    read,
    read_public,
    remove,
    rotate_secret,
    update,
)

CALLBACK = "https://shop.example/callback"


def stage() -> None:
    admin = administrator()
    wanted = models.OAuthClientMetadata(client_name="Shop", redirect_uris=[CALLBACK])
    made = of(create.sync(client=admin, body=wanted), models.OAuthClientWithSecret)
    assert str(made.client_secret).startswith("gws_")
    named = made.client_id
    found = list_.sync(client=admin)
    assert isinstance(found, list)
    assert [one.client_id for one in found] == [named]
    assert of(read.sync(client=admin, client_id=named), models.OAuthClient).redirect_uris == [CALLBACK]
    assert of(read_public.sync(client=admin, client_id=named), models.PublicOAuthClient).client_name == "Shop"
    changes = models.UpdateOAuthClientRequest(
        client_id=named, update=models.OAuthClientChanges(client_name="Store", disabled=True)
    )
    changed = of(update.sync(client=admin, body=changes), models.OAuthClient)
    assert (changed.client_name, changed.disabled) == ("Store", True)
    rotated = rotate_secret.sync(client=admin, body=models.RotateOAuthClientSecretRequest(client_id=named))
    assert of(rotated, models.OAuthClientWithSecret).client_secret != made.client_secret
    gone = models.DeleteOAuthClientRequest(client_id=named)
    assert of(remove.sync(client=admin, body=gone), models.DeletedOAuthClient).success
    assert of(remove.sync(client=admin, body=gone), models.Error).code == "CLIENT_NOT_FOUND"
