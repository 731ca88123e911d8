"""What the operator decides about identity providers (behaviour chapter 7)."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class SocialPolicy:
    """What concerns every identity provider."""

    state_expires_in: timedelta
    refresh_skew: timedelta
    """How long before its end an access token is renewed."""
    expose_refresh_token: bool
    error_url: str | None
    """Where a failed flow leads that named no place; None is the service's own /error."""
    default_redirect_url: str
    """Where a flow leads that named no place."""


@dataclass(frozen=True, slots=True)
class LinkingPolicy:
    """Whose account an identity belongs to."""

    enabled: bool
    implicit: bool
    require_local_verified: bool
    trusted_providers: tuple[str, ...]
    allow_different_emails: bool
