"""Languages of pages and emails: negotiation and translations.

The source texts are English. A catalog is `locales/<language>.po`; `make translations` collects the texts into it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from gettext import NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from domain.locale_formats import LocaleFormats

Unit = Literal["day", "hour", "minute"]

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
_FORMATS = {"en": "en_GB"}
"""Locales of dates and numbers, where the language does not say enough: English is read everywhere, so the month is
a word and the day has 24 hours."""
_MINUTES: Mapping[Unit, int] = {"day": 1440, "hour": 60, "minute": 1}
_UNITS: tuple[tuple[Unit, int], ...] = (("day", 2880), ("hour", 60))
"""Units, and from how many minutes on they are used."""
_WEIGHT = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*q=([01](?:\.[0-9]{0,3})?)\s*)?")


@dataclass(frozen=True, slots=True)
class Localization:
    """A language and its translations."""

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
        """Return the translation of the singular or plural that this number requires."""
        return self.translations.ngettext(singular, plural, number)

    def format_date(self, moment: date) -> str:
        """Return a day, such as `25 November 2026`; of a time, the day in UTC."""
        return _formats(self.language).format_date(_day(moment))

    def format_datetime(self, instant: datetime) -> str:
        """Return an instant, such as `25 November 2026, 10:19 UTC`."""
        minute = instant.astimezone(UTC).replace(second=0, microsecond=0)
        return _formats(self.language).format_datetime(minute.date(), minute.time())

    def format_duration(self, span: timedelta) -> str:
        """Return a time span in the largest unit that is still exact enough: `45 minutes`, `24 hours`, `7 days`."""
        minutes = max(1, round(span.total_seconds() / 60))
        unit = _unit_of(minutes)
        exact = timedelta(minutes=minutes // _MINUTES[unit] * _MINUTES[unit])
        # The threshold is the number of units from which on the next larger unit is used.
        return _formats(self.language).format_duration(exact, unit, threshold=minutes + 1)

    def format_ago(self, instant: datetime, now: datetime) -> str:
        """Return how long ago an instant was, or how long from now it is: `3 hours ago`, `in 2 days`, `now`."""
        seconds = (instant - now).total_seconds()
        if abs(seconds) < 1:
            # Babel has no word for it, and says `in 0 seconds`.
            return self.gettext(N_("now"))
        return _formats(self.language).format_ago(seconds)

    def format_number(self, number: int) -> str:
        """Return a number with the separators of the language."""
        return _formats(self.language).format_number(number)


def _day(moment: date) -> date:
    """Return a day; of a time, the day in UTC."""
    return moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment


@cache
def _formats(language: str) -> "LocaleFormats":
    # Imported here, because Babel costs 40 ms and 4 MB and is not needed before the first page or email.
    from domain.locale_formats import LocaleFormats  # noqa: PLC0415 - see above

    return LocaleFormats(_FORMATS.get(language, language.replace("-", "_")))


def N_(text: str) -> str:  # noqa: N802 - the name that the tools of gettext know
    """Return the text unchanged: marks a text that is translated later, so that `make translations` finds it."""
    return text


def _unit_of(minutes: int) -> Unit:
    """Return the unit of a time span: `90 minutes` stay minutes, and `24 hours` hours."""
    for unit, least in _UNITS:
        if minutes >= least and (minutes % _MINUTES[unit] == 0 or minutes >= 2 * least):
            return unit
    return "minute"


@cache
def localization(language: str) -> Localization:
    """Return one of LANGUAGES with its translations, which are read once and cached."""
    return Localization(language, _translations(language))


def supported(tag: str | None) -> str | None:
    """Return the best match in LANGUAGES for a BCP 47 tag (`pt` and `pt-PT`: `pt-BR`), or None."""
    normalized = (tag or "").replace("_", "-").lower()
    base = normalized.partition("-")[0]
    for language in LANGUAGES:
        if language.lower() == normalized:
            return language
    return next((language for language in LANGUAGES if language.lower().partition("-")[0] == base), None)


def negotiate(*wishes: str | None, accept_language: str | None = None, default: str = "en") -> str:
    """Return the language for a user: the first supported preference, else the best of Accept-Language, else `default`.

    `wishes` are the preferences: None, or a BCP 47 tag, or several separated by spaces as in `ui_locales` (OpenID
    Connect Core 1.0, 3.1.2.1).
    """
    tags = [tag for wish in wishes if wish for tag in wish.split()[:8]]
    ranked = _by_weight(accept_language) if accept_language else []
    return next((language for tag in (*tags, *ranked) if (language := supported(tag))), default)


@cache
def _translations(language: str) -> NullTranslations:
    path = CATALOGS / f"{language}.po"
    if not path.exists():
        return NullTranslations()
    return _formats(language).translations(path)


def _by_weight(accept_language: str) -> list[str]:
    """Return the tags of an Accept-Language header, the most preferred first (RFC 9110, 12.5.4)."""
    # The header comes from strangers; its length bounds the work.
    matches = [_WEIGHT.fullmatch(language_range) for language_range in accept_language[:256].split(",")]
    weighted = [(float(match[2] or 1), match[1]) for match in matches if match is not None]
    return [tag for weight, tag in sorted(weighted, key=lambda pair: -pair[0]) if weight > 0]
