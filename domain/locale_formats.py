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
        self._locale = Locale.parse(locale)

    def format_date(self, day: date) -> str:
        """Return a day, such as `25 November 2026`."""
        return _date(self._locale, day)

    def format_datetime(self, day: date, minute: time) -> str:
        """Return a day and a time in UTC, such as `25 November 2026, 10:19 UTC`."""
        joined = str(self._locale.datetime_formats["medium"])
        return f"{joined.format(_time(self._locale, minute), self.format_date(day))} UTC"

    def format_duration(self, span: timedelta, unit: Literal["day", "hour", "minute"], threshold: int) -> str:
        """Return a time span in a unit; from `threshold` units on, in the next larger unit."""
        return format_timedelta(span, granularity=unit, threshold=threshold, locale=self._locale)

    def format_ago(self, span: timedelta) -> str:
        """Return a time span from now, with its direction: `3 hours ago`, `in 2 days`."""
        # Minutes are exact enough from an hour on, and make most times of a page equal.
        seconds = span.total_seconds()
        exact = seconds if abs(seconds) < _HOUR else round(seconds / 60) * 60
        return _ago(self._locale, round(exact))

    def format_number(self, number: int) -> str:
        """Return a number with the separators of the language."""
        return _number(self._locale, number)

    def translations(self, catalog: Path) -> NullTranslations:
        """Read a file of translations (`.po`)."""
        compiled = BytesIO()
        with catalog.open("rb") as file:
            write_mo(compiled, read_po(file, locale=str(self._locale)))
        compiled.seek(0)
        return Translations(compiled)


# Cached, because Babel needs 30 µs for a date, time or number; a page may show hundreds, of which few are distinct.
@lru_cache(maxsize=1024)
def _date(locale: Locale, day: date) -> str:
    return format_date(day, "long", locale)


@lru_cache(maxsize=4096)
def _number(locale: Locale, number: int) -> str:
    return format_decimal(number, locale=locale)


@lru_cache(maxsize=4096)
def _ago(locale: Locale, seconds: int) -> str:
    return format_timedelta(seconds, threshold=1.5, add_direction=True, locale=locale)


@lru_cache(maxsize=4096)
def _time(locale: Locale, minute: time) -> str:
    return format_time(minute, "short", tzinfo=UTC, locale=locale)
