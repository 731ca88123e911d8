"""Decryption of the columns that Supabase Auth encrypts if a project turns on its database encryption.

The format is that of its package `crypto`: AES-256-GCM under a key that HKDF-SHA256 derives from a configured key and
the id of the row, https://github.com/supabase/auth/blob/master/internal/crypto/crypto.go.
"""

import base64
from collections.abc import Mapping

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32


def parse_keys(text: str) -> dict[str, bytes]:
    """Return the keys by id from `text`, the value of GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS.

    Raises ValueError if it is malformed.
    """
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(text.strip().split(","), 1):
        name, _, value = entry.strip().partition(":")
        try:
            keys[name] = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
        except ValueError:
            keys[name] = b""
        if not name or len(keys[name]) != KEY_BYTES:
            raise ValueError(
                f"key {number} is not an id, a colon and {KEY_BYTES} bytes in base64url; the file has the value of"
                " GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS"
            )
    return keys


def is_encrypted(value: str) -> bool:
    """Return whether a value of `encrypted_password` or `secret` is encrypted; hashes and base32 never start so."""
    return value.startswith("{")


def decrypt(value: str, row_id: str, keys: Mapping[str, bytes]) -> str | None:
    """Decrypt a value of the row with this id; return None if the value is damaged or its key is missing."""
    try:
        envelope = orjson.loads(value)
        key = HKDF(SHA256(), KEY_BYTES, salt=None, info=row_id.encode()).derive(keys[envelope["key_id"]])
        nonce, data = (base64.b64decode(envelope[name], validate=True) for name in ("nonce", "data"))
        return AESGCM(key).decrypt(nonce, data, None).decode()
    except (ValueError, KeyError, TypeError, InvalidTag):
        return None
