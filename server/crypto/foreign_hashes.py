"""Verification of password hashes of other programs; this module never creates one."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from passlib.context import CryptContext

from server.crypto import firebase_scrypt, weak_hashes

_BCRYPT_BYTES = 72
"""The bytes of a password that bcrypt reads. The format ignores all further bytes; the library refuses them."""
SCRYPT_KEY_LENGTH = 64
"""Bytes of the key that scrypt derives, in Django as in Better Auth."""
WORDPRESS = "$wp"
"""The prefix that WordPress 6.8 adds to its bcrypt hashes: `$wp$2y$10$…`."""

PASSLIB = CryptContext(
    schemes=[
        "bcrypt",
        "scrypt",
        "pbkdf2_sha1",
        "pbkdf2_sha256",
        "pbkdf2_sha512",
        "django_pbkdf2_sha256",
        "django_pbkdf2_sha1",
        "django_bcrypt_sha256",
        "django_argon2",
    ]
)
DJANGO_SCRYPT = re.compile(
    r"scrypt\$(?P<n>[0-9]+)\$(?P<salt>[^$]+)\$(?P<r>[0-9]+)\$(?P<p>[0-9]+)\$(?P<key>[^$]+)"
)
BETTER_AUTH = re.compile(r"(?P<salt>[0-9a-f]{32}):(?P<key>[0-9a-f]{128})", re.IGNORECASE)


def matches(password: str, hashed: str) -> bool:
    """Return whether a password, which is not normalized, matches a hash. Raises ValueError for an unknown format."""
    return _check_of(hashed)(password.encode())


def _check_of(hashed: str) -> Callable[[bytes], bool]:
    for prefix, check in _CHECKS.items():
        if hashed.startswith(prefix):
            return partial(check, hashed=hashed)
    if (match := BETTER_AUTH.fullmatch(hashed)) is not None:
        salt, key = match["salt"].encode(), bytes.fromhex(match["key"])
        return lambda secret: _fits_scrypt(secret, salt, 16384, 16, 1, key)
    if (match := DJANGO_SCRYPT.fullmatch(hashed)) is not None:
        salt, key = match["salt"].encode(), base64.b64decode(match["key"], validate=True)
        n, r, p = (int(match[name]) for name in "nrp")
        return lambda secret: _fits_scrypt(secret, salt, n, r, p, key)
    if hashed.startswith("$2"):
        # The other program cut longer passwords in the same way. Hashes of this service are argon2id, which reads the
        # whole password.
        return lambda secret: PASSLIB.verify(secret[:_BCRYPT_BYTES], hashed)
    return lambda secret: PASSLIB.verify(secret, hashed)


def _matches_wordpress(secret: bytes, hashed: str) -> bool:
    """Compare with bcrypt of a MAC of the password, of which bcrypt reads all bytes."""
    # WordPress strips passwords when they are set and when they are typed.
    mac = hmac.digest(b"wp-sha384", secret.strip(b" \t\n\r\0\v"), "sha384")
    return bool(PASSLIB.verify(base64.b64encode(mac), hashed.removeprefix(WORDPRESS)))


def _fits_scrypt(secret: bytes, salt: bytes, n: int, r: int, p: int, key: bytes) -> bool:
    """Compare with scrypt (RFC 7914); the memory it may use is what these numbers need."""
    # OpenSSL refuses scrypt above 32 MiB unless it is told a higher limit.
    memory = 128 * r * (n + p + 2)
    digest = hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=SCRYPT_KEY_LENGTH)
    return hmac.compare_digest(digest, key)


class _Check(Protocol):
    def __call__(self, secret: bytes, hashed: str) -> bool:
        """Return whether a password matches a hash. Raises ValueError for a damaged hash."""


_CHECKS: Mapping[str, _Check] = {
    weak_hashes.PREFIX: weak_hashes.matches,
    firebase_scrypt.STORED: firebase_scrypt.matches,
    WORDPRESS: _matches_wordpress,
}
"""The checks of hashes, by the prefix of the hash."""
