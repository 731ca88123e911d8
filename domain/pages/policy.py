"""Policy for hosted pages, from the operator's settings."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PagesPolicy:
    """The enabled pages, their links and their appearance."""

    enabled: bool
    path: str
    """The path of the account page, below `base_path`; the other pages are below it."""
    locale: str
    """The language of users whose own is unknown."""
    accent: str
    """The colour of buttons and links in light mode, as `#rrggbb`."""
    accent_dark: str
    """The same in dark mode."""
    logo: Path | None
    stylesheet: Path | None
    templates_dir: Path | None
    home_url: str | None
    """The redirect URL after a sign-in without one; None: the account page."""
    terms_url: str | None
    privacy_url: str | None
