"""What the operator decides about magic links."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class MagicLinkPolicy:
    """How users sign in with a link."""

    enabled: bool
    expires_in: timedelta
    sign_up: bool
    confirm: bool
    """Whether a link opens a page whose button signs in; if not, opening the link signs in."""
    page: str | None
    """That page; None: the hosted one."""
