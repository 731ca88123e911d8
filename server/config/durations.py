"""Durations and sizes in text: `90s`, `24h`, `7d`; `64KiB`, `1MiB`."""

import re
from datetime import timedelta

LONGEST = timedelta(days=36500)
"""A century: longer than any setting needs, and short enough to be added to a current date without overflow."""

_DURATION = re.compile(r"(-?[0-9]{1,300}(?:\.[0-9]{1,6})?)([smhd]?)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE = re.compile(r"(-?[0-9]{1,300}) ?(|KiB|MiB|GiB)", re.ASCII)
_BYTES = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class OutOfRange(ValueError):
    """A duration that is negative or longer than a century."""


def parse(written: object) -> timedelta:
    """Return the duration for `90s`, `15m`, `24h`, `7d` or a number of seconds.

    Raises OutOfRange, and ValueError for an invalid duration.
    """
    if isinstance(written, timedelta):
        return written
    seconds = _seconds(written)
    if not 0 <= seconds <= LONGEST.total_seconds():
        raise OutOfRange("should be from 0s to 36500d")
    return timedelta(seconds=seconds)


def _seconds(written: object) -> int | float:
    if isinstance(written, int | float) and not isinstance(written, bool):
        return written
    match = _DURATION.fullmatch(written) if isinstance(written, str) else None
    if match is None:
        raise ValueError("should be a duration such as 90s, 15m, 24h or 7d, or a number of seconds")
    return float(match[1]) * _SECONDS[match[2]]


def parse_size(written: object) -> object:
    """Return the bytes for `64KiB`, `1MiB` or plain digits; return a value that is not text unchanged."""
    if not isinstance(written, str):
        return written
    match = _SIZE.fullmatch(written)
    if match is None:
        raise ValueError("should be a number of bytes, or a size such as 64KiB or 1MiB")
    return int(match[1]) * _BYTES[match[2]]


def spell(span: timedelta) -> str:
    """Return a duration in its largest whole unit, as `7d` or `90s`; fractions of a second as `0.25s`."""
    seconds = span.total_seconds()
    for unit in "dhm":
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]:.0f}{unit}"
    return f"{seconds:g}s"
