"""Clients of the OAuth provider, managed by an administrator."""

from client import administrator, of
from gatewright_client import models
from gatewright_client.api.admin_oauth_clients import (
    end_grants,
    list_clients,
    list_connections,
    list_grants,
)
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
    listed = of(list_clients.sync(client=admin, search="sho"), models.ListedOAuthClients)
    assert [(one.client.client_id, one.grant_count) for one in listed.clients] == [(named, 0)]
    assert of(list_grants.sync(client=admin, client_id=named), models.OAuthGrantPage).grants == []
    someone = of(list_connections.sync(client=admin, user_id="unknown"), models.Error)
    assert someone.code == "USER_NOT_FOUND"
    wanted_end = models.EndGrantsRequest(client_id=named, consents=True)
    assert of(end_grants.sync(client=admin, body=wanted_end), models.EndedGrants).count == 0
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
