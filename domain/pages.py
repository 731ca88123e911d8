"""Hosted pages: what the operator decided about them, and their public URLs."""

from dataclasses import dataclass
from pathlib import Path

from domain import urls
from domain.policy import Policy


@dataclass(frozen=True, slots=True)
class PagesPolicy:
    """Which pages there are, and how they look."""

    enabled: bool
    path: str
    """The path of the account page, below `base_path`; all others are below it."""
    locale: str
    """The language of people of whom no other one is known."""
    accent: str
    """The colour of buttons and links in light mode, as `#rrggbb`."""
    accent_dark: str
    """The same in dark mode."""
    logo: Path | None
    stylesheet: Path | None
    templates_dir: Path | None
    home_url: str | None
    """Where people go after signing in, if nothing else was asked for; None: the account page."""
    terms_url: str | None
    privacy_url: str | None


def page_url(policy: Policy, page: str, **query: str | None) -> str | None:
    """Return the public URL of a hosted page such as `/reset-password`; None while there are no pages."""
    pages = policy[PagesPolicy]
    return urls.public_url(policy, pages.path + page, **query) if pages.enabled else None


def static_path(policy: Policy) -> str:
    """Return the path that the static files of the pages are below, with a slash at its end."""
    return f"{policy.base_path}{policy[PagesPolicy].path}/static/"
