"""Policy for directories, from the operator's settings."""

from dataclasses import dataclass
from typing import Literal

from domain.rate_limits.policy import Quota


@dataclass(frozen=True, slots=True)
class ScimPolicy:
    """How much directories may ask, and what a deletion does."""

    enabled: bool
    page_size: int
    rate: Quota
    """Requests of one token."""
    on_delete: Literal["disable", "remove"]
