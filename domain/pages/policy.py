"""Policy for hosted pages, from the operator's settings."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PagesPolicy:
    """Whether hosted pages are enabled, and their paths, links and appearance."""

    enabled: bool
    path: str
    """The path of the account page, below `base_path`; the other pages are below it."""
    locale: str
    """The language for users whose own language is unknown."""
    accent: str
    """The colour of buttons and links in light mode, as `#rrggbb`."""
    accent_dark: str
    """The colour of buttons and links in dark mode, as `#rrggbb`."""
    logo: Path | None
    stylesheet: Path | None
    templates_dir: Path | None
    home_url: str | None
    """Where users go after a sign-in that names no redirect URL; None: the account page."""
    terms_url: str | None
    privacy_url: str | None
