"""Languages of pages and emails: which one a person reads, and the translations into it.

The source texts are English. A catalog is `locales/<language>.po`; `make translations` collects the texts into it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from gettext import NullTranslations
from io import BytesIO
from pathlib import Path

LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "pt-BR": "Português (Brasil)",
    "ar": "العربية",
}
"""The languages that can be chosen, each by its own name; English needs no catalog."""

CATALOGS = Path(__file__).parent / "locales"

_RIGHT_TO_LEFT = frozenset({"ar"})
_WEIGHT = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?)\s*)?")


@dataclass(frozen=True, slots=True)
class Localization:
    """One language, and the translations into it."""

    language: str
    """A key of LANGUAGES, which is a BCP 47 tag."""
    translations: NullTranslations

    @property
    def direction(self) -> str:
        """The direction of writing: `ltr` or `rtl`."""
        return "rtl" if self.language in _RIGHT_TO_LEFT else "ltr"

    def gettext(self, text: str) -> str:
        """Return the translation of a source text, or the text itself."""
        return self.translations.gettext(text) if text else ""

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Return the translation for this number of things."""
        return self.translations.ngettext(singular, plural, number)


@cache
def localization(language: str) -> Localization:
    """Return one of LANGUAGES with its catalog, which is read once."""
    return Localization(language, _translations(language))


def supported(tag: str | None) -> str | None:
    """Return the language of LANGUAGES that serves a BCP 47 tag best (`pt` and `pt-PT`: `pt-BR`), or None."""
    wanted = (tag or "").replace("_", "-").lower()
    base = wanted.partition("-")[0]
    for language in LANGUAGES:
        if language.lower() == wanted:
            return language
    return next((language for language in LANGUAGES if language.lower().partition("-")[0] == base), None)


def negotiate(*wishes: str | None, accept_language: str | None = None, default: str = "en") -> str:
    """Return the language for a person: the first supported wish, else the best of Accept-Language, else `default`.

    A wish is a BCP 47 tag, or several separated by spaces as in `ui_locales` (OpenID Connect Core 1.0, 3.1.2.1).
    """
    tags = [tag for wish in wishes if wish for tag in wish.split()[:8]]
    ranked = _by_weight(accept_language) if accept_language else []
    return next((found for tag in (*tags, *ranked) if (found := supported(tag))), default)


@cache
def _translations(language: str) -> NullTranslations:
    path = CATALOGS / f"{language}.po"
    if not path.exists():
        return NullTranslations()
    from babel.messages.mofile import write_mo  # noqa: PLC0415 - loaded where it is used
    from babel.messages.pofile import read_po  # noqa: PLC0415
    from babel.support import Translations  # noqa: PLC0415

    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language.replace("-", "_")))
    compiled.seek(0)
    return Translations(compiled)


def _by_weight(accept_language: str) -> list[str]:
    """Return the tags of an Accept-Language header, the most wanted first (RFC 9110, 12.5.4)."""
    found = [_WEIGHT.fullmatch(part) for part in accept_language[:256].split(",")]
    weighted = [(float(match[2] or 1), match[1]) for match in found if match is not None]
    return [tag for weight, tag in sorted(weighted, key=lambda one: -one[0]) if weight > 0]
