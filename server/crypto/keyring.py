"""Encryption at rest and keyed digests: one derived key per secret and purpose."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_KEY_LENGTH = 32
"""Bytes of a key, as Fernet and HMAC-SHA256 require."""


def _derive(secret: bytes, use: str, purpose: str) -> bytes:
    """Derive a key by HKDF-SHA256 (RFC 5869). Digests and encryption have different keys, even for the same purpose."""
    # The purpose is part of the key, so a value that is copied to another column cannot be decrypted there.
    return HKDF(SHA256(), _KEY_LENGTH, salt=None, info=f"gatewright {use} {purpose}".encode()).derive(secret)


class Keyring:
    """The secrets of the service: the newest encrypts, all decrypt. Implements `domain.ports.Cipher`."""

    __slots__ = ("_digest_keys", "_fernets", "_secrets")

    def __init__(self, secrets: Sequence[str]) -> None:
        """Take at least one secret; the settings check the length. Raises ValueError without a secret."""
        if not secrets:
            raise ValueError("at least one secret is needed")
        self._secrets = tuple(secret.encode() for secret in secrets)
        self._fernets: dict[str, tuple[Fernet, MultiFernet]] = {}
        self._digest_keys: dict[str, tuple[bytes, ...]] = {}

    def __repr__(self) -> str:
        return "<Keyring>"

    @property
    def rotating(self) -> bool:
        """Return whether there are older secrets in addition to the newest one."""
        return len(self._secrets) > 1

    def encrypt(self, purpose: str, text: str) -> bytes:
        """Return a text encrypted under the newest secret. `purpose` is a fixed name, such as `outbox.payload`."""
        return self._fernets_for(purpose)[0].encrypt(text.encode())

    def decrypt(self, purpose: str, ciphertext: bytes) -> str | None:
        """Return the decrypted text; None if no secret fits, or if the value was encrypted for another purpose."""
        try:
            return self._fernets_for(purpose)[1].decrypt(ciphertext).decode()
        except InvalidToken:
            return None

    def is_current(self, purpose: str, ciphertext: bytes) -> bool:
        """Return whether the value was encrypted for this purpose under the newest secret."""
        try:
            self._fernets_for(purpose)[0].decrypt(ciphertext)
        except InvalidToken:
            return False
        return True

    def digests(self, purpose: str, text: str) -> list[bytes]:
        """Return the HMAC-SHA256 of a text under each secret, newest first. Store the first, and compare with all."""
        keys = self._digest_keys.get(purpose)
        if keys is None:
            # defence: R44 digest-keys
            keys = tuple(_derive(secret, "digest", purpose) for secret in self._secrets)
            self._digest_keys[purpose] = keys
        return [hmac.digest(key, text.encode(), hashlib.sha256) for key in keys]

    def _fernets_for(self, purpose: str) -> tuple[Fernet, MultiFernet]:
        """Return the ciphers for encrypting and for decrypting; purposes are few and fixed, so all are cached."""
        found = self._fernets.get(purpose)
        if found is None:
            keys = (_derive(secret, "encrypt", purpose) for secret in self._secrets)
            fernets = [Fernet(base64.urlsafe_b64encode(key)) for key in keys]
            found = self._fernets[purpose] = (fernets[0], MultiFernet(fernets))  # defence: R44 cipher-keys
        return found
