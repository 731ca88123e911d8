"""Policy for magic links, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class MagicLinkPolicy:
    """Lifetime, sign-up and confirmation of magic links."""

    enabled: bool
    expires_in: timedelta
    sign_up: bool
    confirm: bool
    """Whether a link opens a page whose button signs in; if not, opening the link signs in."""
    page: str | None
    """The URL of the page that confirms the sign-in; None: the hosted page."""
