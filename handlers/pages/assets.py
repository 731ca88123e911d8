"""The static files of the pages: style sheet, script and logo.

Their names contain a digest of the content, so that browsers may cache them.
"""

import codecs
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from domain.console.policy import ConsolePolicy
from domain.pages.links import static_path
from domain.pages.policy import PagesPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.policy import Policy

_FOLDER = Path(__file__).parent / "static"
# Fixed, because `mimetypes` also reads tables of the system, which may differ.
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load: its public path, its media type and its bytes."""

    path: str
    media_type: str
    body: bytes = field(repr=False)


def assets(policy: Policy) -> Mapping[str, Asset]:
    """Return the files by their names in templates: `style`, `script`, and `logo` if one is configured.

    Results are cached. Raises OSError if a file that the operator has configured is missing.
    """
    return _assets(static_path(policy), policy[PagesPolicy], with_passkeys=policy[PasskeyPolicy].on_pages)


def console_assets(policy: Policy) -> Mapping[str, Asset]:
    """Return the files `style` and `script` of the console: the parts of all pages, followed by the console's own."""
    label_colour = policy[ConsolePolicy].label_colour
    return _console_assets(static_path(policy), policy[PagesPolicy], label_colour)


@lru_cache(maxsize=4)
def _console_assets(folder: str, pages: PagesPolicy, label_colour: str | None) -> Mapping[str, Asset]:
    shared = _assets(folder, pages, with_passkeys=False)
    own = {name: (_FOLDER / name).read_bytes() for name in ("console.css", "console.js")}
    if label_colour is not None:
        own["console.css"] += f":root {{ --label: {label_colour}; }}\n".encode()
    return {
        key: _asset(folder, name, b"\n".join((shared[key].body, own[name])))
        for key, name in (("style", "console.css"), ("script", "console.js"))
    }


@lru_cache(maxsize=4)
def _assets(folder: str, pages: PagesPolicy, *, with_passkeys: bool) -> Mapping[str, Asset]:
    scripts = ("passkeys.js", "pages.js") if with_passkeys else ("pages.js",)
    # One style sheet and one script, because each file costs a request.
    styles = [_brand(pages).encode(), (_FOLDER / "pages.css").read_bytes()]
    if pages.stylesheet is not None:
        # A byte order mark in the middle of a style sheet would spoil the rule that follows it.
        styles.append(pages.stylesheet.read_bytes().removeprefix(codecs.BOM_UTF8))
    assets = {
        "style": _asset(folder, "pages.css", b"\n".join(styles)),
        # The passkey script comes first, so that its submit listener runs first.
        "script": _asset(folder, "pages.js", b"".join((_FOLDER / name).read_bytes() for name in scripts)),
    }
    if pages.logo is not None:
        assets["logo"] = _asset(folder, f"logo{pages.logo.suffix.lower()}", pages.logo.read_bytes())
    return assets


def _asset(folder: str, name: str, body: bytes) -> Asset:
    stem, _, ending = name.rpartition(".")
    digest = hashlib.sha256(body).hexdigest()[:16]
    media_type = _TYPES.get(f".{ending}") or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Asset(f"{folder}{stem}.{digest}.{ending}", media_type, body)


def _brand(pages: PagesPolicy) -> str:
    """Return the operator's colours as CSS custom properties."""
    return (
        f":root {{ --accent: {pages.accent}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ --accent: {pages.accent_dark}; }} }}"
    )
