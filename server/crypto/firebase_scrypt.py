"""Password hashes of Firebase Authentication, a variant of scrypt: https://github.com/firebase/scrypt.

Firebase encrypts a secret key of the project, the signer key, by AES-256-CTR under the scrypt of the password. CTR mode
adds a key stream to the text by XOR, and the stream depends only on the password and the salt. So the signer key is
subtracted at import: the stored hash is the key stream, and neither checks nor exports need the signer key.
"""

import base64
import hashlib
import hmac
import re

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

EXPORTED, STORED = "$fbscrypt$", "$firebase-scrypt$"
"""Prefixes of hashes: with the signer key, as Supabase Auth exports them, and without it, as they are stored here."""

_EXPORTED = re.compile(
    r"\$fbscrypt\$v=1,n=(?P<log_n>[0-9]{1,2}),r=(?P<r>[0-9]{1,9}),p=(?P<p>[0-9]{1,9})"
    r"(?:,ss=(?P<separator>[^,$]+))?,sk=(?P<signer_key>[^,$]+)\$(?P<salt>[^$]+)\$(?P<hash>[^$]+)"
)
_STORED = re.compile(
    r"\$firebase-scrypt\$ln=(?P<log_n>[0-9]{1,2}),r=(?P<r>[0-9]{1,9}),p=(?P<p>[0-9]{1,9})"
    r"\$(?P<salt>[^$]+)\$(?P<stream>[^$]+)"
)
_LEAST_BYTES = 32
"""A shorter key stream would match many passwords."""
_KEY_BYTES = 32


def without_signer_key(hashed: str) -> str:
    """Return a hash in the stored form; one in that form is returned as it is. Raises ValueError for a damaged hash."""
    match = _EXPORTED.fullmatch(hashed)
    if match is None:
        _parsed(hashed)
        return hashed
    signer_key, ciphertext = _octets(match["signer_key"]), _octets(match["hash"])
    if len(signer_key) != len(ciphertext) or len(ciphertext) < _LEAST_BYTES:
        raise ValueError("the signer key and the hash have different lengths")
    salt = _octets(match["salt"]) + _octets(match["separator"] or "")
    stream = bytes(one ^ other for one, other in zip(signer_key, ciphertext, strict=True))
    cost = f"ln={match['log_n']},r={match['r']},p={match['p']}"
    return f"{STORED}{cost}${_text(salt)}${_text(stream)}"


def cost(stored: str) -> tuple[int, int, int]:
    """Return the scrypt parameters N, r and p (RFC 7914, 2) of a stored hash. Raises ValueError for a damaged hash."""
    n, r, p, _, _ = _parsed(stored)
    return n, r, p


def matches(secret: bytes, hashed: str) -> bool:
    """Return whether a password matches a stored hash. Raises ValueError for a damaged hash."""
    n, r, p, salt, stream = _parsed(hashed)
    # OpenSSL refuses scrypt above 32 MiB unless it is told a higher limit.
    memory = 128 * r * (n + p + 2)
    key = hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=_KEY_BYTES)
    encryptor = Cipher(AES(key), CTR(bytes(16))).encryptor()
    return hmac.compare_digest(encryptor.update(bytes(len(stream))), stream)


def _parsed(stored: str) -> tuple[int, int, int, bytes, bytes]:
    match = _STORED.fullmatch(stored)
    if match is None:
        raise ValueError("not a hash of Firebase")
    stream = _octets(match["stream"])
    if len(stream) < _LEAST_BYTES:
        raise ValueError("the key stream is too short")
    return 2 ** int(match["log_n"]), int(match["r"]), int(match["p"]), _octets(match["salt"]), stream


def _octets(text: str) -> bytes:
    # The API of Firebase writes base64url, its command and console base64.
    standard = text.translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def _text(octets: bytes) -> str:
    return base64.b64encode(octets).decode().rstrip("=")
