"""Policy for clients, from the operator's settings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

STANDARD_SCOPES = ("openid", "profile", "email", "offline_access")
"""The scopes of OpenID Connect, which exist whatever the operator configures."""


@dataclass(frozen=True, slots=True)
class Resource:
    """An API that access tokens are for (RFC 8707)."""

    name: str
    scopes: Sequence[str]
    format: Literal["jwt", "opaque"]
    """The format of access tokens for this API."""
    expires_in: timedelta | None
    """The lifetime of access tokens for this API; None for `oauth.access_token_expires_in`."""


@dataclass(frozen=True, slots=True)
class ClientPolicy:
    """What clients may be registered and used for, and who may register and manage them."""

    scopes: Mapping[str, str]
    """The operator's scopes, in addition to the standard ones, each with its description."""
    resources: Mapping[str, Resource]
    """The resources by their URI."""
    registration: Literal["off", "token", "open"]
    client_documents: bool
    """Whether a client id may be the URL of a document with the client's metadata."""
    client_document_hosts: Sequence[str]
    """The hosts from which documents are accepted; a leading `*.` stands for any subdomain. Empty: all public hosts."""
    client_management: Literal["off", "admin", "users"]
    configured: Mapping[str, "ConfiguredClient"]
    """The clients from the configuration by client id."""
    algorithms: Sequence[str]
    """The algorithms by which ID tokens can be signed."""
    audiences: Collection[str]
    """The audiences of tokens for other services. No client id may equal one, or its ID tokens would be confused."""
    is_development: bool
    """Whether redirect URIs of web applications may be http URLs of the user's own machine."""


@dataclass(frozen=True, slots=True)
class ConfiguredClient:
    """A client from the configuration."""

    metadata: Mapping[str, Any]
    secret: str | None
