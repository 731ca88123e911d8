"""Policy for webhooks, from the operator's settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from domain.webhooks.secrets import ConfiguredEndpoint


@dataclass(frozen=True, slots=True)
class WebhookPolicy:
    """Who manages endpoints, where they may be, and what they receive."""

    enabled: bool
    management: Literal["admin", "cli"]
    """Whether endpoints are managed by operations and pages, too, or only on the command line."""
    max_endpoints: int
    allowed_ports: Sequence[int]
    secret_overlap: timedelta
    user_fields: Sequence[str]
    """The fields of the user in events."""
    disable_after: timedelta
    """Zero: an endpoint is never disabled because it fails."""
    payload_retention: timedelta
    history_retention: timedelta
    configured: Mapping[str, ConfiguredEndpoint]
    """The endpoints from the configuration by name."""
