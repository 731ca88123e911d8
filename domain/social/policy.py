"""Policy for identity providers, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class SocialPolicy:
    """Settings that apply to every identity provider."""

    state_expires_in: timedelta
    refresh_skew: timedelta
    """How long before its expiry an access token is refreshed."""
    expose_refresh_token: bool
    error_url: str | None
    """The redirect URL of a failed flow that was begun without one; None for the `/error` page of the service."""
    default_redirect_url: str
    """The redirect URL of a successful flow that was begun without one."""


@dataclass(frozen=True, slots=True)
class LinkingPolicy:
    """Which identities may be linked to which users."""

    enabled: bool
    implicit: bool
    require_local_verified: bool
    trusted_providers: tuple[str, ...]
    allow_different_emails: bool
