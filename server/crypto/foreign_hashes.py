"""Verification of password hashes of other programs; this module never creates one."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable

from passlib.context import CryptContext

from server.crypto import firebase_scrypt

_BCRYPT_BYTES = 72
"""The bytes of a password that bcrypt reads. The format ignores all further bytes; the library refuses them."""
SCRYPT_KEY_LENGTH = 64
"""Bytes, in Django as in Better Auth."""

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
    """Return whether a password, without normalization, matches the hash. Raises ValueError for an unknown format."""
    return _check_of(hashed)(password.encode())


def _check_of(hashed: str) -> Callable[[bytes], bool]:
    if hashed.startswith(firebase_scrypt.STORED):
        return lambda secret: firebase_scrypt.matches(secret, hashed)
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


def _fits_scrypt(secret: bytes, salt: bytes, n: int, r: int, p: int, key: bytes) -> bool:
    """Compare with scrypt (RFC 7914); the memory it may use is what these numbers need."""
    # OpenSSL refuses scrypt above 32 MiB unless it is told a higher limit.
    memory = 128 * r * (n + p + 2)
    digest = hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=SCRYPT_KEY_LENGTH)
    return hmac.compare_digest(digest, key)
