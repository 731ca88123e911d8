"""Random tokens and their digests; the only module that generates randomness."""

import hashlib
import os
import random
import string
from collections.abc import Callable, Iterator, Sequence

_ALPHABET = (string.ascii_letters + string.digits).encode()
_TABLE = bytes(_ALPHABET[byte % 62] for byte in range(256))
_BIASED = bytes(range(248, 256))
"""A byte below 248 picks one of the 62 characters without bias; a higher one is discarded."""

MOST_PRESENTED = 4
"""The maximum number of tokens in cookies of one name; if a request has more, none of them is looked up."""

BACKUP_CODE_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants, which form no words (RFC 8628, 6.1)."""

_choice = random.SystemRandom()
"""The operating system's generator, for choices without bias."""


def token(length: int = 32) -> str:
    """Return `length` characters `[A-Za-z0-9]` from the operating system's generator (32 carry 190 bits)."""
    characters = b""
    while len(characters) < length:
        # 8 of 256 byte values are discarded, so a few more bytes than needed are read.
        characters += os.urandom(length + 8).translate(_TABLE, _BIASED)
    return characters[:length].decode()


def random_bytes(length: int) -> bytes:
    """Return `length` random bytes."""
    return os.urandom(length)


def digits(length: int) -> str:
    """Return `length` decimal digits, uniformly distributed."""
    return _pick(string.digits, length)


def backup_code() -> str:
    """Return a code `xxxxx-xxxxx` of unambiguous letters and digits (49 bits)."""
    code = _pick(BACKUP_CODE_LETTERS, 10)
    return f"{code[:5]}-{code[5:]}"


def user_code() -> str:
    """Return the code of a device, `BCDF-GHJK`, of eight consonants, uniformly distributed (34 bits)."""
    code = _pick(USER_CODE_LETTERS, 8)
    return f"{code[:4]}-{code[4:]}"


def spread(part: float) -> float:
    """Return a random number from -`part` to `part`, by which times are spread."""
    return _choice.uniform(-part, part)


def _pick(letters: str, length: int) -> str:
    return "".join(_choice.choice(letters) for _ in range(length))


def request_id() -> str:
    """Return a request id of 32 hexadecimal characters; random, but not a credential."""
    return next(_identifiers)


def _cut_identifiers() -> Iterator[str]:
    """Yield ids from blocks of random bytes, because a system call per id costs half as much as a session check."""
    while True:
        block = os.urandom(4096).hex()
        yield from (block[start : start + 32] for start in range(0, len(block), 32))


_identifiers = _cut_identifiers()


def is_token(text: str) -> bool:
    """Return whether the text has the form of a token of 32 characters."""
    # Five times as fast as a regular expression. The two checks together accept exactly the characters of `_ALPHABET`.
    return len(text) == 32 and text.isascii() and text.isalnum()


def presented(values: Sequence[str], has_form: Callable[[str], bool] = is_token) -> Sequence[str]:
    """Return the values of a cookie that have the form of a token; none if there are more than `MOST_PRESENTED`."""
    tokens = [value for value in values if has_form(value)]
    return tokens if len(tokens) <= MOST_PRESENTED else ()  # defence: V27 most-presented


def digest(secret: str) -> bytes:
    """Return the SHA-256 of a token; enough for a value with 190 random bits."""
    return hashlib.sha256(secret.encode()).digest()  # defence: V29 digest


def digest_of_bytes(secret: bytes) -> bytes:
    """Return the SHA-256 of random bytes, such as a challenge."""
    return hashlib.sha256(secret).digest()
