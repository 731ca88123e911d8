"""Policy for the OAuth and OpenID Connect provider, from the operator's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, slots=True)
class OAuthPolicy:
    """The lifetimes of codes, tokens and grants, and the URLs of the pages that users are sent to."""

    enabled: bool
    issuer: str
    """`base_url` followed by `base_path`; exactly this text is in every token and in the metadata."""
    code_expires_in: timedelta
    request_expires_in: timedelta
    access_token_expires_in: timedelta
    id_token_expires_in: timedelta
    refresh_token_expires_in: timedelta
    grant_lifetime: timedelta
    refresh_reuse_grace: timedelta
    login_page: str
    consent_page: str
    device_page: str
    logout_page: str
    create_page: str
    select_account_page: str


@dataclass(frozen=True, slots=True)
class DevicePolicy:
    """Settings of the sign-in on devices without a browser (RFC 8628)."""

    enabled: bool
    expires_in: timedelta
    interval: int
    """Seconds between two polls."""
    complete_uri: bool
    """Whether devices also get `verification_uri_complete`, a URL that contains the user code."""


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """The metadata of the provider as a JSON document, and its strong ETag."""

    body: bytes
    etag: bytes


PageName = Literal["login_page", "consent_page", "device_page", "logout_page", "create_page"]

PAGES: Mapping[PageName, str] = {
    "login_page": "/sign-in",
    "consent_page": "/consent",
    "device_page": "/device",
    "logout_page": "/log-out",
    "create_page": "/sign-up",
}
"""The path of each hosted page below `pages.path`. A setting of the same name can replace the page."""
