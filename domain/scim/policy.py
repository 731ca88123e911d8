"""Policy for directories, from the operator's settings."""

from dataclasses import dataclass
from typing import Literal

from domain.rate_limits.policy import Quota


@dataclass(frozen=True, slots=True)
class ScimPolicy:
    """The limits of SCIM requests, and what happens to a user whom a directory deletes."""

    enabled: bool
    page_size: int
    rate: Quota
    """The rate limit of the requests with one token."""
    on_delete: Literal["disable", "remove"]
