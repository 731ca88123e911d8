"""Identity providers as the rules see them: what is asked of one, what it proves, and how it fails.

`server/identity_providers` speaks OpenID Connect and OAuth 2.0; the rules know only what stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Protocol

LEEWAY = 60  # defence: V18 leeway
"""Seconds that a provider's clock and the service's may differ."""
DIRECT_AGE = timedelta(hours=1)
"""How old an ID token may be that an application brings."""


class IdentityRefused(Exception):
    """The ID token is not valid, or there is no subject, or the provider does not tell who the user is."""


class SubjectMissing(IdentityRefused):
    """It is valid, and does not name whom it is about."""


class CodeRefused(Exception):
    """The provider does not take the code it is said to have given."""


class IssuerMismatch(Exception):
    """The answer claims to come from another provider (RFC 9207)."""


class RefreshRefused(Exception):
    """The provider does not renew these tokens, and said so."""


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """What the operator decided about one provider, and what follows from its kind."""

    id: str
    scopes: tuple[str, ...]
    """Asked for unless the caller names others; an OpenID provider is always asked for `openid`."""
    is_openid: bool
    takes_id_tokens: bool
    refreshes: bool
    """Whether it may give refresh tokens at all."""
    disable_sign_up: bool = False
    disable_implicit_sign_up: bool = False
    require_verified_email: bool = False
    sync_profile: bool = False


@dataclass(frozen=True, slots=True)
class AuthorizationParams:
    """What a user is sent to the provider with."""

    redirect_uri: str
    state: str = field(repr=False)
    scopes: tuple[str, ...]
    verifier: str = field(repr=False)
    """Of PKCE, 64 characters; only its S256 challenge is sent."""
    nonce: str = field(repr=False)
    login_hint: str | None = None


@dataclass(frozen=True, slots=True)
class CallbackParams:
    """What the user came back with, and what the flow remembers of the question."""

    redirect_uri: str
    code: str = field(repr=False)
    issuer: str | None
    """The parameter `iss` (RFC 9207)."""
    form_user: str | None = field(repr=False)
    """The JSON that Apple sends beside its first answer, unchecked."""
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class IdTokenCredential:
    """An ID token that an application got by itself, and what it may say beside it."""

    id_token: str = field(repr=False)
    nonce: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is at a provider: (provider id, issuer, subject), and what it says of them."""

    provider_id: str
    issuer: str
    """Empty for plain OAuth 2.0."""
    subject: str
    email: str | None
    """As the provider wrote it, or None; unchecked."""
    email_verified: bool
    name: str
    image: str | None
    profile: Mapping[str, Any] = field(repr=False)
    """Everything it said, as it said it."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a provider gives for later calls; None is what it left out."""

    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    id_token: str | None = field(default=None, repr=False)
    token_type: str | None = None
    scopes: tuple[str, ...] | None = None
    access_token_expires_at: datetime | None = None
    refresh_token_expires_at: datetime | None = None


class TokenUse(Enum):
    """Who may bring the ID token of a proof directly, and how often."""

    OURS = auto()
    """Nobody: the provider gave it to this service."""
    ONCE = auto()
    """An application brought it, and it answers a nonce."""
    UNTIL_IT_ENDS = auto()
    """An application brought it, and it answers none."""


@dataclass(frozen=True, slots=True)
class VerifiedIdentity:
    """An identity that was proven, and the tokens that came with it."""

    identity: Identity
    tokens: Tokens = field(repr=False)
    use: TokenUse = TokenUse.OURS


class Provider(Protocol):
    """One configured provider. Every call may take up to `oauth.http_timeout`; none may be made inside a transaction.

    Each raises `errors.ProviderUnavailable` when the provider is down, slow, or answers garbage.
    """

    @property
    def traits(self) -> ProviderTraits:
        """What was decided about it."""

    async def authorization_url(self, params: AuthorizationParams) -> str:
        """Return the address of the provider's page; works from cached metadata while the provider is down."""

    async def check_issuer(self, issuer: str | None) -> None:
        """Compare the `iss` of a redirect, None without one, with the provider's own (RFC 9207).

        Raises IssuerMismatch, also for None where the provider announces to send it.
        """

    async def exchange(self, params: CallbackParams, now: datetime) -> VerifiedIdentity:
        """Turn a code into a proven identity. Raises IssuerMismatch, CodeRefused, IdentityRefused."""

    async def verify(self, proof: IdTokenCredential, now: datetime) -> VerifiedIdentity:
        """Check an ID token that came directly. Raises IdentityRefused, SubjectMissing."""

    async def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        """Renew tokens. Raises RefreshRefused."""

    async def identify(self, access_token: str, id_token: str | None, subject: str) -> Identity:
        """Return what the provider says now about the owner of a token. Raises IdentityRefused.

        That is the userinfo endpoint; a provider without one is asked what the stored, once verified ID token says.
        What names another subject is refused.
        """
