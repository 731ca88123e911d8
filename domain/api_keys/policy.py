"""Policy for API keys, from the operator's settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

DEFAULT = "default"
"""The kind of keys that always exists."""

Statements = Mapping[str, Sequence[str]]
"""Actions by resource."""


class KeyKind(NamedTuple):
    """A kind of keys: the defaults of new keys, and the fields that owners may choose."""

    is_of_organizations: bool
    """Whether the keys belong to organizations, not to users."""
    default_prefix: str
    expires_in: timedelta
    """The lifetime of keys that are created without one; zero if they do not expire."""
    minimum_expires_in: timedelta
    maximum_expires_in: timedelta
    custom_expiry: bool
    rate_limit_enabled: bool
    rate_limit_window: timedelta
    rate_limit_max: int
    default_permissions: Statements
    grantable: Statements
    """The permissions that owners may give their keys; empty if only managers of all keys give permissions."""


@dataclass(frozen=True, slots=True)
class ApiKeyPolicy:
    """The format of keys, their limits and their permissions."""

    enabled: bool
    kinds: Mapping[str, KeyKind]
    minimum_prefix_length: int
    maximum_prefix_length: int
    starting_characters: int
    require_name: bool
    minimum_name_length: int
    maximum_name_length: int
    metadata: bool
    """Whether owners can store metadata with a key."""
    allow_never: bool
    """Whether keys without an expiry may be created."""
    accept_imported: bool
    """Whether imported keys are accepted, whose texts another service created."""
    limit_per_owner: int
    disable_on_reset: bool
    """Whether the reset of a password disables the user's keys."""

    def kinds_of(self, *, organizations: bool) -> Sequence[str]:
        """Return the ids of the kinds whose keys belong to organizations or, if `organizations` is false, to users."""
        return [name for name, kind in self.kinds.items() if kind.is_of_organizations == organizations]
