"""The metadata of the OAuth provider, which clients configure themselves by."""

from client import nobody, of
from gatewright_client import models
from gatewright_client.api.discovery import oauth, openid


def stage() -> None:
    for found in (openid.sync(client=nobody), oauth.sync(client=nobody)):
        metadata = of(found, models.ProviderMetadata)
        assert metadata.token_endpoint == f"{metadata.issuer}/oauth2/token"
        assert metadata.code_challenge_methods_supported == ["S256"]
