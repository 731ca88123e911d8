"""The text of a key: a prefix, 58 random characters, and a checksum of 6 characters.

The checksum detects typing errors, and lets secret scanners avoid false alarms. It does not protect against attackers.
"""

import re
import string
from zlib import crc32

from domain import tokens

_RANDOM, _CHECK = 58, 6
_FORM = re.compile(rf"[A-Za-z0-9_-]{{0,32}}[A-Za-z0-9]{{{_RANDOM + _CHECK}}}", re.ASCII)
_IMPORTED = re.compile(r"[!-~]{16,256}", re.ASCII)
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_PAIRS = [one + other for one in _DIGITS for other in _DIGITS]

RESERVED_PREFIXES = ("2fa_", "rvk_", "inv_")
"""The beginnings of other credentials of the service."""


def create(prefix: str) -> str:
    """Return the text of a new key: 345 random bits (58 of 62 characters)."""
    return with_check(prefix + tokens.token(_RANDOM))


def with_check(body: str) -> str:
    """Append the checksum to a prefix and random characters."""
    return body + _check(body)


def start(text: str, prefix: str, characters: int) -> str | None:
    """Return the beginning by which users recognize a key: the prefix and `characters` random ones; None for 0."""
    return text[: len(prefix) + characters] if characters else None


def has_form(text: str) -> bool:
    """Return whether the text has the form of a key that this service created."""
    # The checksum refuses guessed and mistyped keys without a look-up.
    # defence: KEY14 form
    return _FORM.fullmatch(text) is not None and text[-_CHECK:] == _check(text[:-_CHECK])


def could_be_imported(text: str) -> bool:
    """Return whether the text could be an imported key, which another service created."""
    return _IMPORTED.fullmatch(text) is not None


def _check(body: str) -> str:
    """Return the CRC-32 of a text in base 62, padded with `0`."""
    first, rest = divmod(crc32(body.encode()), len(_PAIRS) ** 2)
    second, third = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[second] + _PAIRS[third]
