"""The settings by which a service under test knows the provider: `test`, `plain` and, if there is one, `other`."""

import json

from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.state import CLIENT_ID, CLIENT_SECRET

CLAIMS = {
    "id": "id",
    "email": "email",
    "email_verified": "email_verified",
    "name": "name",
    "image": "avatar_url",
}
"""What /oauth/user calls what a service wants to know."""


def social_settings(
    provider: ProviderProcess, other: ProviderProcess | None = None, **more: str
) -> dict[str, str]:
    """Return overrides for `make_service`; `more` are keys of the provider `test`, such as `sync_profile="true"`.

    `test` and `other` speak OpenID Connect, each with a process of its own; `plain` is OAuth 2.0 at the first one.
    """
    settings = {
        **_named("test", discovery_url=_discovery(provider), **more),
        **_named(
            "plain",
            authorization_endpoint=f"{provider.issuer}/oauth/authorize",
            token_endpoint=f"{provider.issuer}/oauth/token",
            userinfo_endpoint=f"{provider.issuer}/oauth/user",
            claims=json.dumps(CLAIMS),
        ),
    }
    if other is not None:
        settings |= _named("other", discovery_url=_discovery(other))
    return settings


def _named(id_: str, **keys: str) -> dict[str, str]:
    keys = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **keys}
    return {f"providers.{id_}.{key}": value for key, value in keys.items()}


def _discovery(provider: ProviderProcess) -> str:
    return f"{provider.issuer}/.well-known/openid-configuration"
