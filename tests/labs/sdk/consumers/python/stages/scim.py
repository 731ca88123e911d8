"""The tokens and the state of the directory of a connection.

What the directory itself does is not in the SDK: it has a client for SCIM of its own.
"""

from client import administrator, of
from gatewright_client import AuthenticatedClient, models
from gatewright_client.api.scim import confirm, create_token, get_directory, list_tokens, revoke_token
from gatewright_client.api.sso import register, remove

PROVIDER = "https://93.184.215.14"
NAME = "people"


def stage() -> None:
    admin = administrator()
    oidc = models.SsoOidcSettings(
        client_id="client",
        client_secret="a-secret-of-the-provider",
        skip_discovery=True,
        authorization_endpoint=f"{PROVIDER}/authorize",
        token_endpoint=f"{PROVIDER}/token",
        jwks_endpoint=f"{PROVIDER}/keys",
    )
    wanted = models.RegisterSsoProviderRequest(
        provider_id=NAME, issuer=PROVIDER, domain="people.example", oidc_config=oidc
    )
    of(register.sync(client=admin, body=wanted), models.RegisteredSsoProvider)
    look_after_tokens(admin)
    directory = of(get_directory.sync(client=admin, provider_id=NAME), models.ScimDirectory)
    assert directory.url.endswith("/scim/v2")
    assert (directory.active_users, directory.stopped_at) == (0, None)
    stopped = models.ConfirmScimDirectoryRequest(provider_id=NAME)
    assert of(confirm.sync(client=admin, body=stopped), models.Error).code == "DIRECTORY_NOT_STOPPED"
    named = models.SsoProviderRequest(provider_id=NAME)
    assert of(remove.sync(client=admin, body=named), models.DeletedSsoProvider).success
    gone = of(get_directory.sync(client=admin, provider_id=NAME), models.Error)
    assert gone.code == "SSO_PROVIDER_NOT_FOUND"


def look_after_tokens(admin: AuthenticatedClient) -> None:
    """Create a token, list it, and revoke it."""
    wanted = models.CreateScimTokenRequest(provider_id=NAME, name="Entra ID", expires_in=3600)
    made = of(create_token.sync(client=admin, body=wanted), models.CreatedScimToken)
    assert made.secret.startswith("scim_")
    assert made.token.expires_at is not None
    assert made.token.expires_at > made.token.created_at
    listed = list_tokens.sync(client=admin, provider_id=NAME)
    assert isinstance(listed, list)
    assert [(one.id, one.name, one.last_used_at) for one in listed] == [(made.token.id, "Entra ID", None)]
    ended = models.RevokeScimTokenRequest(provider_id=NAME, token_id=made.token.id)
    assert of(revoke_token.sync(client=admin, body=ended), models.ScimSuccess).success
    assert of(revoke_token.sync(client=admin, body=ended), models.Error).code == "SCIM_TOKEN_NOT_FOUND"
    assert list_tokens.sync(client=admin, provider_id=NAME) == []
