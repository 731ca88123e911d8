"""Hashes and encrypted values of other programs, imported with their users.

A password hash is accepted if it can be verified at sign-in within these bounds: a hash names its own cost, and one
that needs a minute or a gigabyte would block the sign-in of all users.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from typing import Any

from argon2 import extract_parameters
from argon2.exceptions import InvalidHashError
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError
from passlib.context import CryptContext

from domain.data_import.eligibility import Field, Problem, WeakHash
from server.crypto import firebase_scrypt, foreign_hashes, weak_hashes

LONGEST = 1024
"""The longest hash that is accepted, in characters."""
SCRYPT_BYTES = 256 * 2**20
SCRYPT_WORK = 2**24
"""The highest cost of scrypt that is accepted: N times r times p. Better Auth's is 2**18."""
ARGON2_KIB = 1024 * 1024
ARGON2_WORK = 4 * 1024 * 1024
"""The highest cost of argon2 that is accepted: KiB times passes. OWASP's strongest recommendation is about a
twentieth."""
ARGON2_LANES = 16
"""Most lanes of argon2 that are accepted; each is a thread while a password is checked."""
PBKDF2_ROUNDS = 10_000_000
BCRYPT_ROUNDS = 15
"""The highest cost of bcrypt that is accepted: the base-2 logarithm of the rounds."""
PHPASS_ROUNDS = 20
"""The highest cost of phpass that is accepted: the base-2 logarithm of the rounds. It takes about half a second;
WordPress has 13."""

UNKNOWN = (
    "is in no format that can be checked (argon2, bcrypt, scrypt, pbkdf2, phpass, digests, those of Better Auth,"
    " Django, Firebase, WordPress)"
)
BROKEN = "is damaged: it begins like a supported format and does not go on like it"
COSTLY = "costs too much to check"

_DJANGO_ARGON2 = "argon2"
"""The prefix that Django adds to the standard format."""

_NONCE_BYTES = 24
_ENVELOPE = re.compile(r"\$ba\$[0-9]+\$(?P<sealed>.*)", re.DOTALL)
"""The prefix of values that Better Auth encrypted with one of several secrets."""

_PASSLIB: CryptContext = foreign_hashes.PASSLIB


def accepted(hashed: str) -> str | WeakHash:
    """Return an accepted hash in the form in which it is stored, or a `WeakHash` that has to be wrapped before.

    Raises Problem if the hash cannot be verified at sign-in, or not in reasonable time.
    """
    try:
        weak = weak_hashes.parse(hashed)
    except ValueError:
        raise _problem(BROKEN) from None
    if weak is not None:
        _look_at_scheme(weak.scheme)
        return weak
    return stored(hashed)


def stored(hashed: str) -> str:
    """Return a hash that is no `WeakHash` in the form in which it is stored.

    Raises Problem if the hash cannot be verified at sign-in, or not in reasonable time.
    """
    if len(hashed) > LONGEST or not hashed.isascii() or not hashed.isprintable():
        raise _problem(UNKNOWN)
    if hashed.startswith(weak_hashes.PREFIX):
        _look_at_wrapped(hashed)
        return hashed
    if hashed.startswith("$argon2"):
        _look_at_argon2(hashed)
        # A hash in Django's form is also compared with the password as typed, because its program did not normalize.
        return _DJANGO_ARGON2 + hashed
    if hashed.startswith((firebase_scrypt.EXPORTED, firebase_scrypt.STORED)):
        return _without_signer_key(hashed)
    # Django's name of plain bcrypt, in front of its standard form.
    hashed = hashed.removeprefix("bcrypt$") if hashed.startswith("bcrypt$$2") else hashed
    if hashed.startswith(f"{foreign_hashes.WORDPRESS}$2y$"):
        _look_at_modular(hashed.removeprefix(foreign_hashes.WORDPRESS))
    elif hashed.startswith(_DJANGO_ARGON2 + "$argon2"):
        _look_at_argon2(hashed.removeprefix(_DJANGO_ARGON2))
    elif (match := foreign_hashes.DJANGO_SCRYPT.fullmatch(hashed)) is not None:
        _look_at_django_scrypt(match["key"], *(int(match[name]) for name in "nrp"))
    elif foreign_hashes.BETTER_AUTH.fullmatch(hashed) is None:
        _look_at_modular(hashed)
    return hashed


def decrypt_better_auth(sealed: Any, secrets: Sequence[str]) -> bytes | None:
    """Decrypt a value that Better Auth has encrypted; return None if it is malformed or none of the secrets fits.

    The format is XChaCha20-Poly1305 under the SHA-256 of a secret, in hexadecimal digits, with the nonce in front.
    """
    envelope = _ENVELOPE.fullmatch(sealed) if isinstance(sealed, str) else None
    try:
        octets = bytes.fromhex(envelope["sealed"] if envelope is not None else sealed)
    except (ValueError, TypeError):
        return None
    for secret in secrets:
        key = hashlib.sha256(secret.encode()).digest()
        try:
            return crypto_aead_xchacha20poly1305_ietf_decrypt(
                octets[_NONCE_BYTES:], None, octets[:_NONCE_BYTES], key
            )
        except (CryptoError, ValueError):
            continue
    return None


def _problem(reason: str) -> Problem:
    return Problem("passwordHash", reason, Field.PASSWORD)


def _without_signer_key(hashed: str) -> str:
    try:
        stored = firebase_scrypt.without_signer_key(hashed)
        n, r, p = firebase_scrypt.cost(stored)
    except ValueError:
        raise _problem(BROKEN) from None
    _look_at_scrypt(n, r, p)
    return stored


def _look_at_wrapped(hashed: str) -> None:
    try:
        scheme, outer = weak_hashes.unwrapped(hashed) or ("", "")
    except ValueError:
        raise _problem(BROKEN) from None
    _look_at_scheme(scheme)
    _look_at_argon2(outer)


def _look_at_scheme(scheme: str) -> None:
    if weak_hashes.log_rounds(scheme) > PHPASS_ROUNDS:
        raise _problem(COSTLY)


def _look_at_argon2(hashed: str) -> None:
    try:
        parameters = extract_parameters(hashed)
        salt, tag = (_octets(part) for part in hashed.split("$")[-2:])
    except (InvalidHashError, ValueError):
        raise _problem(BROKEN) from None
    if parameters.memory_cost > ARGON2_KIB or parameters.memory_cost * parameters.time_cost > ARGON2_WORK:
        raise _problem(COSTLY)
    if parameters.parallelism > ARGON2_LANES:
        raise _problem(COSTLY)
    if (
        min(parameters.memory_cost, parameters.time_cost, parameters.parallelism) < 1
        or len(salt) < 8
        or len(tag) < 4
    ):
        raise _problem(BROKEN)


def _octets(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def _look_at_django_scrypt(key: str, n: int, r: int, p: int) -> None:
    try:
        length = len(base64.b64decode(key, validate=True))
    except binascii.Error:
        raise _problem(BROKEN) from None
    if length != foreign_hashes.SCRYPT_KEY_LENGTH:
        raise _problem(BROKEN)
    _look_at_scrypt(n, r, p)


def _look_at_scrypt(n: int, r: int, p: int) -> None:
    # N must be a power of two (RFC 7914, 2).
    if n < 2 or n & (n - 1) or r < 1 or p < 1:
        raise _problem(BROKEN)
    if 128 * r * (n + p + 2) > SCRYPT_BYTES or n * r * p > SCRYPT_WORK:
        raise _problem(COSTLY)


def _look_at_modular(hashed: str) -> None:
    scheme = _PASSLIB.identify(hashed)
    # `$2x$` marks hashes of a faulty bcrypt implementation (CVE-2011-2483), which treats different passwords as
    # equal.
    if scheme is None or hashed.startswith("$2x$"):
        raise _problem(UNKNOWN)
    try:
        parsed: Any = _PASSLIB.handler(scheme).from_string(hashed)
    except (ValueError, TypeError):
        raise _problem(BROKEN) from None
    if not parsed.checksum:
        raise _problem(BROKEN)
    if scheme == "scrypt":
        _look_at_scrypt(2**parsed.rounds, parsed.block_size, parsed.parallelism)
    elif parsed.rounds > (BCRYPT_ROUNDS if "bcrypt" in scheme else PBKDF2_ROUNDS):
        raise _problem(COSTLY)
