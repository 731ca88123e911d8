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
    """The domains as written in the configuration, unchecked."""
    required_domains: Sequence[str]
    organization: str | None
    """The id or slug of an organization; None for the whole service."""
    columns: Mapping[str, Any]
    """The other columns of its row."""


@dataclass(frozen=True, slots=True)
class SsoConnectionPolicy:
    """How many connections an organization may have, and the connections from the configuration."""

    limit_per_organization: int
    configured: Mapping[str, ConfiguredConnection]
    """The connections from the configuration, by `providerId`."""
