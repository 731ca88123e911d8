"""The passwords that no user may choose: a built-in list, and a list of the operator."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from domain.passwords.strength import canonical
from server.config.base import Settings
from server.config.groups.password import PasswordSettings
from server.config.sources import reason

COMMON_PASSWORDS = Path(__file__).with_name("common_passwords.txt")
"""The file of common passwords: sorted, in canonical form, one per line, after a first line that names the source."""


def blocklist(enabled: bool, extra_file: Path | None) -> frozenset[str]:
    """Return the case-folded NFKC forms of all refused passwords; empty if the blocklist is disabled.

    `extra_file` is UTF-8, one password per line. Raises OSError or UnicodeDecodeError if it is unreadable.
    """
    if not enabled:
        return frozenset()
    if extra_file is None:
        return _common()
    return _common().union(canonical(password) for password in _lines(extra_file) if password)


def check(settings: Settings) -> Iterator[str]:
    """Yield the problems of `password.blocklist_file`."""
    if (listed := settings[PasswordSettings].blocklist_file) is not None:
        try:
            blocklist(settings[PasswordSettings].blocklist, listed)
        except (OSError, UnicodeDecodeError) as fault:
            yield f"password.blocklist_file: {listed}: {reason(fault)}"


@cache
def _common() -> frozenset[str]:
    return frozenset(_lines(COMMON_PASSWORDS)[1:]) - {""}


def _lines(file: Path) -> list[str]:
    """Split at line ends only: any other separator may be part of a password."""
    return [line.removesuffix("\r") for line in file.read_text(encoding="utf-8-sig").split("\n")]
