"""Policy for connections, from the operator's settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.sso.configuration import Config


@dataclass(frozen=True, slots=True)
class ConfiguredConnection:
    """A connection from the configuration. The key of a SAML connection is created when it is stored."""

    issuer: str
    config: Config
    domains: Sequence[str]
    """As written, unchecked."""
    required_domains: Sequence[str]
    organization: str | None
    """The id or slug of an organization."""
    columns: Mapping[str, Any]
    """Its other columns."""


@dataclass(frozen=True, slots=True)
class SsoConnectionPolicy:
    """How many connections owners can create, and those from the configuration."""

    limit_per_organization: int
    configured: Mapping[str, ConfiguredConnection]
    """The connections from the configuration, by `providerId`."""
