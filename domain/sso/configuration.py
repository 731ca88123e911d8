"""The configuration of a connection: endpoints and keys of its provider, and the names of its claims or attributes.

It is stored as encrypted JSON in `sso_connection.config`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from domain.ports import Cipher
from models.sso_connection import CONFIG, ConnectionRow, ConnectionType

PROVIDER_ID = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
"""The form of the `providerId` of a connection."""

ClientAuthentication = Literal["basic", "post"]
"""How the service authenticates at the token endpoint: `client_secret_basic` or `client_secret_post`."""
BASIC: Final = "basic"


@dataclass(frozen=True, slots=True)
class AttributeNames:
    """The names of claims (OpenID Connect) or attributes (SAML) at the provider; None for the default names."""

    id: str | None = None
    """The claim or attribute with the lasting identifier of a user; by default `sub`, or the NameID."""
    email: str | None = None
    name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    image: str | None = None
    groups: str | None = None


@dataclass(frozen=True, slots=True)
class OidcConfig:
    """The configuration of an OpenID provider. Endpoints that are None are read from the discovery document."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    discovery_url: str | None = None
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    userinfo_endpoint: str | None = None
    jwks_uri: str | None = None
    end_session_endpoint: str | None = None
    token_auth: ClientAuthentication = BASIC
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    names: AttributeNames = AttributeNames()
    override_user_info: bool = False
    """Whether every sign-in overwrites the name and picture of the user."""


@dataclass(frozen=True, slots=True)
class SamlConfig:
    """A SAML identity provider, and the keys of this service for it. Certificates and keys are PEM."""

    entry_point: str
    """The URL of the single sign-on service of the provider (redirect binding)."""
    certificates: tuple[str, ...]
    """The certificates of the keys that the provider signs with. No other key is trusted."""
    logout_url: str | None = None
    """The URL of the single logout service of the provider (redirect binding)."""
    logout_response_url: str | None = None
    """The URL for logout responses; None for `logout_url`."""
    audience: str | None = None
    """The entity id of this service; by default the URL of its metadata."""
    name_id_format: str | None = None
    signs_requests: bool = False
    private_key: str | None = field(default=None, repr=False)
    """The key that signs requests and decrypts assertions."""
    certificate: str | None = None
    names: AttributeNames = AttributeNames()
    override_user_info: bool = False


Config = OidcConfig | SamlConfig

_CLASSES: Mapping[str, type[OidcConfig] | type[SamlConfig]] = {
    ConnectionType.OIDC: OidcConfig,
    ConnectionType.SAML: SamlConfig,
}
_LISTS = ("scopes", "certificates")


def encrypt_config(cipher: Cipher, config: Config) -> bytes:
    """Return the stored form of a configuration."""
    return cipher.encrypt(CONFIG, json.dumps(asdict(config)))


def config_of(cipher: Cipher, row: ConnectionRow) -> Config | None:
    """Return the configuration of a connection; None if it cannot be decrypted, or has the form of another version."""
    return decrypt_config(cipher, row.type, row.config)


def decrypt_config(cipher: Cipher, kind: str, stored: bytes) -> Config | None:
    """Return a configuration from its stored form; `kind` is the type of the connection.

    None if it cannot be decrypted, or has the form of another version.
    """
    text = cipher.decrypt(CONFIG, stored)
    if text is None:
        return None
    values: dict[str, Any] = json.loads(text)
    try:
        names = AttributeNames(**values.pop("names", {}))
        lists: dict[str, Any] = {name: tuple(values.pop(name)) for name in _LISTS if name in values}
        return _CLASSES[kind](**values, **lists, names=names)
    except (KeyError, TypeError):
        return None
