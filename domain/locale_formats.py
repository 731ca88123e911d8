"""The formats and catalog of one language, from Babel. `localization.py` imports this module on first use."""

from datetime import UTC, date, time, timedelta
from functools import lru_cache
from gettext import NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Literal

from babel.core import Locale
from babel.dates import format_date, format_time, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.support import Translations

_HOUR = 3600


class LocaleFormats:
    """Formats of dates, times and numbers in a locale such as `pt_BR`."""

    def __init__(self, locale: str) -> None:
        self._name = locale
        self._locale = Locale.parse(locale)
        self._datetime_pattern = str(self._locale.datetime_formats["medium"])

    def format_date(self, day: date) -> str:
        """Return a day, such as `25 November 2026`."""
        return _date(self._name, day)

    def format_datetime(self, day: date, minute: time) -> str:
        """Return a day and a time in UTC, such as `25 November 2026, 10:19 UTC`."""
        return f"{self._datetime_pattern.format(_time(self._name, minute), self.format_date(day))} UTC"

    def format_duration(self, span: timedelta, unit: Literal["day", "hour", "minute"], threshold: int) -> str:
        """Return a time span in a unit; from `threshold` units on, in the next larger unit."""
        return format_timedelta(span, granularity=unit, threshold=threshold, locale=self._locale)

    def format_ago(self, seconds: float) -> str:
        """Return a time relative to now, such as `3 hours ago` or `in 2 days`; negative `seconds` are in the past."""
        # Minutes are exact enough from an hour on, and hours from two days on. They make most times of a page equal.
        step = 1 if abs(seconds) < _HOUR else 60 if abs(seconds) < 48 * _HOUR else _HOUR
        return _ago(self._name, round(seconds / step) * step)

    def format_number(self, number: int) -> str:
        """Return a number with the separators of the language."""
        return _number(self._name, number)

    def translations(self, catalog: Path) -> NullTranslations:
        """Return the translations in a `.po` file."""
        compiled = BytesIO()
        with catalog.open("rb") as file:
            write_mo(compiled, read_po(file, locale=str(self._locale)))
        compiled.seek(0)
        return Translations(compiled)


# Cached, because Babel needs 30 µs for a date, time or number; a page may show hundreds, of which few are distinct.
# The key has the name of the locale, because hashing a Locale takes longer.
@lru_cache(maxsize=1024)
def _date(locale: str, day: date) -> str:
    return format_date(day, "long", locale)


@lru_cache(maxsize=4096)
def _number(locale: str, number: int) -> str:
    return format_decimal(number, locale=locale)


@lru_cache(maxsize=4096)
def _ago(locale: str, seconds: int) -> str:
    return format_timedelta(seconds, threshold=1.5, add_direction=True, locale=locale)


@lru_cache(maxsize=4096)
def _time(locale: str, minute: time) -> str:
    return format_time(minute, "short", tzinfo=UTC, locale=locale)
