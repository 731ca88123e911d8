"""The interface of identity providers: requests, verified results, and errors.

`server/identity_providers` implements OpenID Connect and OAuth 2.0; the rules know only this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Protocol

LEEWAY = 60  # defence: V18 leeway
"""The tolerated difference in seconds between a provider's clock and the service's."""
DIRECT_AGE = timedelta(hours=1)
"""The maximum age of an ID token that an application obtained from a provider and sends to this service."""


class IdentityRefused(Exception):
    """The ID token is not valid or has no subject, or the provider does not identify the user."""


class SubjectMissing(IdentityRefused):
    """The ID token is valid but names no subject."""


class CodeRefused(Exception):
    """The provider does not accept the authorization code."""


class IssuerMismatch(Exception):
    """The response claims to come from another provider (RFC 9207)."""


class RefreshRefused(Exception):
    """The provider does not accept the refresh token."""


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """The operator's settings for one provider, and the capabilities of its kind."""

    id: str
    scopes: tuple[str, ...]
    """Requested unless the caller names others; `openid` is always requested from an OpenID provider."""
    is_openid: bool
    takes_id_tokens: bool
    refreshes: bool
    """Whether the provider can issue refresh tokens."""
    disable_sign_up: bool = False
    disable_implicit_sign_up: bool = False
    require_verified_email: bool = False
    sync_profile: bool = False


@dataclass(frozen=True, slots=True)
class AuthorizationParams:
    """The parameters of the redirect to a provider."""

    redirect_uri: str
    state: str = field(repr=False)
    scopes: tuple[str, ...]
    verifier: str = field(repr=False)
    """The PKCE verifier, 64 characters; only its S256 challenge is sent."""
    nonce: str = field(repr=False)
    login_hint: str | None = None
    forces_authentication: bool = False
    """Whether the user must authenticate again (`prompt=login`)."""


@dataclass(frozen=True, slots=True)
class CallbackParams:
    """The parameters of the redirect from a provider to this service, and the values stored when the flow began."""

    redirect_uri: str
    code: str = field(repr=False)
    issuer: str | None
    """The parameter `iss` (RFC 9207)."""
    form_user: str | None = field(repr=False)
    """The JSON that Apple sends with its first response, unchecked."""
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class IdTokenCredential:
    """An ID token that an application obtained itself, and the values that it may send with the ID token."""

    id_token: str = field(repr=False)
    nonce: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """A user's identity at a provider: (provider id, issuer, subject), and their profile there."""

    provider_id: str
    issuer: str
    """Empty for plain OAuth 2.0."""
    subject: str
    email: str | None
    """As sent by the provider, or None; unchecked."""
    email_verified: bool
    name: str
    image: str | None
    profile: Mapping[str, Any] = field(repr=False)
    """All claims, as the provider sent them."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that a provider issued for a user. A value is None if the provider did not send it."""

    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    id_token: str | None = field(default=None, repr=False)
    token_type: str | None = None
    scopes: tuple[str, ...] | None = None
    access_token_expires_at: datetime | None = None
    refresh_token_expires_at: datetime | None = None


class TokenUse(Enum):
    """How often an application may sign in by sending an ID token to this service."""

    OURS = auto()
    """Never: the provider sent the ID token to this service itself."""
    ONCE = auto()
    """Once, because the ID token has a nonce."""
    UNTIL_IT_ENDS = auto()
    """Any number of times until the ID token expires, because it has no nonce."""


@dataclass(frozen=True, slots=True)
class VerifiedIdentity:
    """A verified identity, and the tokens received with it."""

    identity: Identity
    tokens: Tokens = field(repr=False)
    use: TokenUse = TokenUse.OURS


class Provider(Protocol):
    """One configured provider. Every call may take up to `social.http_timeout`; do not call within a transaction.

    Each raises `errors.ProviderUnavailable` if the provider is down, slow, or its response is malformed.
    """

    @property
    def traits(self) -> ProviderTraits:
        """The settings of this provider."""

    async def authorization_url(self, params: AuthorizationParams) -> str:
        """Return the URL of the provider's sign-in page; cached metadata is used while the provider is down."""

    async def check_issuer(self, issuer: str | None) -> None:
        """Compare the `iss` of a redirect (None if absent) with the provider's own (RFC 9207).

        Raises IssuerMismatch, also for None if the provider's metadata announces the parameter.
        """

    async def exchange(self, params: CallbackParams, now: datetime) -> VerifiedIdentity:
        """Exchange an authorization code for a verified identity.

        Raises IssuerMismatch, CodeRefused, IdentityRefused.
        """

    async def verify(self, proof: IdTokenCredential, now: datetime) -> VerifiedIdentity:
        """Verify an ID token that an application sent. Raises IdentityRefused, SubjectMissing."""

    async def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        """Return new tokens for a refresh token. Raises RefreshRefused."""

    async def identify(self, access_token: str, id_token: str | None, subject: str) -> Identity:
        """Return the current profile of the user to whom an access token belongs.

        The profile comes from the userinfo endpoint. If the provider has none, it is that of `id_token`, which was
        verified when it was received. Raises IdentityRefused, also if the profile is not that of `subject`.
        """


class IdentityProviders(dict[str, Provider]):
    """The configured providers, by id."""
