"""Password digests of Clerk in the formats that can be checked here.

Clerk stores a digest in the format in which it was imported there, with the name of its hasher:
https://clerk.com/docs/reference/backend/user/create-user. Digests that it has created are bcrypt.
"""

import base64
import re
from collections.abc import Callable, Mapping

from domain.data_import.eligibility import Field, Problem

_PBKDF2 = re.compile(r"pbkdf2_(?:sha1|sha256|sha512|sha512_hex)\$([0-9]+)\$([^$]+)\$([^$]+)")
_FIREBASE = re.compile(r"([^$]+)\$([^$]+)\$([^$]+)\$([^$]+)\$([0-9]+)\$([0-9]+)")
_WERKZEUG = re.compile(r"\$?scrypt:([0-9]+):([0-9]+):([0-9]+)\$([^$]+)\$([0-9a-fA-F]+)")


def converted(digest: str | None, hasher: str | None) -> str | Problem | None:
    """Convert a password digest to a format of docs/pages/guides/import.md; return a Problem if that is not possible.

    `hasher` is Clerk's name of the format. Without a digest, return None.
    """
    if digest is None:
        return None
    convert = _CONVERTED.get(hasher or "")
    if convert is None:
        return _problem(f"has the hasher {(hasher or 'none')[:64]}, which cannot be checked")
    try:
        return convert(digest)
    except ValueError:
        return _problem(f"is damaged: it is not a digest of {hasher}")


def _problem(reason: str) -> Problem:
    return Problem("passwordHash", reason, Field.PASSWORD)


def _pbkdf2_sha1(digest: str) -> str:
    rounds, salt, key = _parts(_PBKDF2, digest)
    return _modular("pbkdf2", rounds, salt.encode(), bytes.fromhex(key))


def _pbkdf2_sha256(digest: str) -> str:
    rounds, salt, key = _parts(_PBKDF2, digest)
    return _modular(
        "pbkdf2-sha256", rounds, base64.b64decode(salt, validate=True), base64.b64decode(key, validate=True)
    )


def _pbkdf2_sha512(digest: str) -> str:
    rounds, salt, key = _parts(_PBKDF2, digest)
    return _modular("pbkdf2-sha512", rounds, salt.encode(), bytes.fromhex(key))


def _pbkdf2_sha512_hex(digest: str) -> str:
    rounds, salt, key = _parts(_PBKDF2, digest)
    return _modular("pbkdf2-sha512", rounds, bytes.fromhex(salt), bytes.fromhex(key))


def _modular(name: str, rounds: str, salt: bytes, key: bytes) -> str:
    # The base64 of passlib has a dot for the plus, and no padding.
    salt_text, key_text = (base64.b64encode(part, b"./").decode().rstrip("=") for part in (salt, key))
    return f"${name}${rounds}${salt_text}${key_text}"


def _scrypt_werkzeug(digest: str) -> str:
    """Return the format of Django, which also has a salt in plain text and 64 bytes of key."""
    n, r, p, salt, key = _parts(_WERKZEUG, digest)
    return f"scrypt${n}${salt}${r}${p}${base64.b64encode(bytes.fromhex(key)).decode()}"


def _scrypt_firebase(digest: str) -> str:
    """Return the format of Supabase Auth, from hash, salt, signer key, salt separator, rounds and memory cost."""
    key, salt, signer_key, separator, rounds, cost = _parts(_FIREBASE, digest)
    return f"$fbscrypt$v=1,n={cost},r={rounds},p=1,ss={separator},sk={signer_key}${salt}${key}"


def _parts(pattern: re.Pattern[str], digest: str) -> tuple[str, ...]:
    match = pattern.fullmatch(digest)
    if match is None:
        raise ValueError
    return match.groups()


def _unchanged(digest: str) -> str:
    return digest


_CONVERTED: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(
        ("argon2i", "argon2id", "bcrypt", "bcrypt_sha256_django", "pbkdf2_sha256_django"), _unchanged
    ),
    **dict.fromkeys(("ldap_ssha", "md5", "phpass", "sha256"), _unchanged),
    "pbkdf2_sha1": _pbkdf2_sha1,
    "pbkdf2_sha256": _pbkdf2_sha256,
    "pbkdf2_sha512": _pbkdf2_sha512,
    "pbkdf2_sha512_hex": _pbkdf2_sha512_hex,
    "scrypt_firebase": _scrypt_firebase,
    "scrypt_werkzeug": _scrypt_werkzeug,
}
HASHERS = frozenset(_CONVERTED)
"""The names of the hashers whose digests can be checked."""
