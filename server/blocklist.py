"""The passwords nobody may choose: the built-in list, and the operator's own (behaviour 4.1)."""

from functools import cache
from pathlib import Path

from domain.new_password import canonical

COMMON_PASSWORDS = Path(__file__).with_name("common_passwords.txt")
"""Most common first, one per line in its canonical form, after a line that says where they come from."""


def blocklist(enabled: bool, extra_file: Path | None) -> frozenset[str]:
    """Give the case-folded NFKC forms of all that is refused; none when the list is switched off.

    `extra_file` is UTF-8, one password per line. Raises OSError or UnicodeDecodeError if it is unreadable.
    """
    if not enabled:
        return frozenset()
    return _common() if extra_file is None else _common() | _canonical(_lines(extra_file))


@cache
def _common() -> frozenset[str]:
    return frozenset(_lines(COMMON_PASSWORDS)[1:]) - {""}


def _canonical(passwords: list[str]) -> frozenset[str]:
    return frozenset(canonical(password) for password in passwords if password)


def _lines(file: Path) -> list[str]:
    """Split at line ends only: any other separator may be part of a password."""
    return [line.removesuffix("\r") for line in file.read_text(encoding="utf-8-sig").split("\n")]
