"""Policy for webhooks, from the operator's settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from domain.webhooks.secrets import ConfiguredEndpoint


@dataclass(frozen=True, slots=True)
class WebhookPolicy:
    """The settings of webhooks: who manages endpoints, their limits, and what they receive."""

    enabled: bool
    management: Literal["admin", "cli"]
    """`admin`: endpoints are managed by operations, pages and the command line; `cli`: only on the command line."""
    max_endpoints: int
    allowed_ports: Sequence[int]
    secret_overlap: timedelta
    user_fields: Sequence[str]
    """The names of the fields of the user that events contain, in addition to `id`."""
    disable_after: timedelta
    """The time after which a failing endpoint is disabled; 0 = never."""
    payload_retention: timedelta
    history_retention: timedelta
    configured: Mapping[str, ConfiguredEndpoint]
    """The endpoints from the configuration by name."""
