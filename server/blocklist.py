"""The passwords nobody may choose: the built-in list, and the operator's own (behaviour 4.1)."""

from collections.abc import Set
from functools import cache
from pathlib import Path

from domain.new_password import canonical
from server.words import Words

COMMON_PASSWORDS = Path(__file__).with_name("common_passwords.txt")
"""In their canonical form and the order of `Words`, one per line, after a line that says where they come from."""


def blocklist(enabled: bool, extra_file: Path | None) -> Set[str]:
    """Give the case-folded NFKC forms of all that is refused; none when the list is switched off.

    `extra_file` is UTF-8, one password per line. Raises OSError or UnicodeDecodeError if it is unreadable.
    """
    if not enabled:
        return Words()
    if extra_file is None:
        return _common()
    return Words([*_common(), *(canonical(password) for password in _lines(extra_file) if password)])


@cache
def _common() -> Words:
    return Words.of(COMMON_PASSWORDS.read_bytes().partition(b"\n")[2])


def _lines(file: Path) -> list[str]:
    """Split at line ends only: any other separator may be part of a password."""
    return [line.removesuffix("\r") for line in file.read_text(encoding="utf-8-sig").split("\n")]
