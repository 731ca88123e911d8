"""Policy for clients, from the operator's settings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

STANDARD_SCOPES = ("openid", "profile", "email", "offline_access")
"""The scopes of OpenID Connect that every service has."""


@dataclass(frozen=True, slots=True)
class Resource:
    """An API that access tokens are for (RFC 8707)."""

    name: str
    scopes: Sequence[str]
    format: Literal["jwt", "opaque"]
    """The form of its access tokens."""
    expires_in: timedelta | None
    """The lifetime of its access tokens, or None for that of all."""


@dataclass(frozen=True, slots=True)
class ClientPolicy:
    """The scopes and grants that clients may have, and the users who may register clients."""

    scopes: Mapping[str, str]
    """The description of each scope beside the standard ones."""
    resources: Mapping[str, Resource]
    """The resources by their URI."""
    registration: Literal["off", "token", "open"]
    client_documents: bool
    """Whether a client id may be the URL of a document with the client's metadata."""
    client_document_hosts: Sequence[str]
    """The hosts of these documents, those with `*.` in front for all below them; empty for every public host."""
    client_management: Literal["off", "admin", "users"]
    configured: Mapping[str, "ConfiguredClient"]
    """The clients from the configuration by client id."""
    algorithms: Sequence[str]
    """The algorithms of ID tokens."""
    audiences: Collection[str]
    """The audiences of the tokens for other services, which no client id may equal: tokens would be confused."""
    is_development: bool
    """Whether addresses of web applications may be http on the loopback."""


@dataclass(frozen=True, slots=True)
class ConfiguredClient:
    """A client from the configuration."""

    metadata: Mapping[str, Any]
    secret: str | None
