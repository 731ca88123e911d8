"""The settings of the hosted pages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from domain.pages.policy import PagesPolicy
from server.config.base import Group, Settings
from server.config.value_types import Colour, OptionalPath, OptionalUrl, PagesPath, setting

_BACKGROUNDS = {"accent": "#ffffff", "accent_dark": "#16181d"}
"""The background of each accent colour: that of a card in light and in dark mode."""

_CONTRAST = 4.5
"""Minimum contrast of text of normal size (WCAG 2.2, success criterion 1.4.3)."""

_LOGOS = (".svg", ".png", ".webp", ".jpg", ".jpeg")


class PagesSettings(Group):
    """`pages.*`: the hosted pages, on which users sign in and manage their accounts."""

    key = "pages"

    fills = (PagesPolicy,)

    enabled: bool = setting(True, "Whether the hosted pages exist, and emails link to them.")
    path: PagesPath = setting("/account", "Path of the hosted pages, below `base_path`.")
    locale: Literal["en", "de", "fr", "es", "pt-BR", "ar"] = setting(
        "en", "Language of the pages if no other language is known for the visitor."
    )
    accent: Colour = setting("#2f55d4", "Colour of buttons and links, as #rrggbb.")
    accent_dark: Colour = setting("#9db4ff", "Colour of buttons and links in dark mode, as #rrggbb.")
    logo: OptionalPath = setting(None, "File of the image shown above the forms (SVG, PNG, WebP or JPEG).")
    stylesheet: OptionalPath = setting(
        None, "File of a style sheet (UTF-8) that is appended to the built-in one."
    )
    templates_dir: OptionalPath = setting(
        None, "Folder of templates that replace the built-in ones of the same name."
    )
    home_url: OptionalUrl = setting(
        None,
        "URL to which the hosted pages redirect users after a sign-in, if they were opened without "
        "callbackURL; by default the account page. If it is set, the logo links to it.",
    )
    terms_url: OptionalUrl = setting(None, "URL of the terms of service, linked from the sign-up page.")
    privacy_url: OptionalUrl = setting(None, "URL of the privacy notice, linked from the sign-up page.")

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield colours with too little contrast, and files that do not exist or cannot be displayed."""
        for key, ground in _BACKGROUNDS.items():
            yield from low_contrast(f"pages.{key}", getattr(self, key), ground)
        yield from _missing("pages.logo", self.logo)
        yield from _missing("pages.stylesheet", self.stylesheet)
        if self.logo is not None and self.logo.suffix.lower() not in _LOGOS:
            yield f"pages.logo: must be a file of one of the types {', '.join(_LOGOS)}"
        if self.templates_dir is not None and not self.templates_dir.is_dir():
            yield f"pages.templates_dir: there is no folder {self.templates_dir}"


def _missing(key: str, file: Path | None) -> Iterator[str]:
    if file is not None and not file.is_file():
        yield f"{key}: there is no file {file}"


def low_contrast(key: str, colour: str, ground: str) -> Iterator[str]:
    """Yield a problem if the contrast of two colours `#rrggbb` is too low for text."""
    ratio = contrast(colour, ground)
    if ratio < _CONTRAST:
        yield f"{key}: has a contrast of {ratio:.1f}:1 to {ground}; at least {_CONTRAST}:1 is needed"


def contrast(colour: str, other: str) -> float:
    """Return the contrast ratio of two colours `#rrggbb`, from 1 to 21 (WCAG 2.2, definition of contrast ratio)."""
    lighter, darker = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
