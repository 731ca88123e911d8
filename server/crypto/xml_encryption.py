"""Decryption for XML Encryption 1.1: RSA-OAEP for the key, AES-GCM or AES-CBC for the content, by cryptography.

RSA 1.5 and Triple DES are not offered: the first is open to Bleichenbacher's attack, and the specification advises
against both.
"""

from collections.abc import Callable, Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from server.crypto.certificates import load_private_key

_BLOCK = 16
_GCM_NONCE = 12

_XENC = "http://www.w3.org/2001/04/xmlenc#"
_XENC11 = "http://www.w3.org/2009/xmlenc11#"
OAEP_MGF1P = f"{_XENC}rsa-oaep-mgf1p"
"""RSA-OAEP whose mask generation function is MGF1 with SHA-1."""
OAEP_11 = f"{_XENC11}rsa-oaep"

# SHA-1 is the default of both algorithms. OAEP does not depend on its collision resistance.
HASHES: Mapping[str, type[hashes.HashAlgorithm]] = {
    "http://www.w3.org/2000/09/xmldsig#sha1": hashes.SHA1,
    f"{_XENC}sha256": hashes.SHA256,
    "http://www.w3.org/2001/04/xmldsig-more#sha384": hashes.SHA384,
    f"{_XENC}sha512": hashes.SHA512,
}
MASKS: Mapping[str, type[hashes.HashAlgorithm]] = {
    f"{_XENC11}mgf1sha1": hashes.SHA1,
    f"{_XENC11}mgf1sha256": hashes.SHA256,
    f"{_XENC11}mgf1sha384": hashes.SHA384,
    f"{_XENC11}mgf1sha512": hashes.SHA512,
}


def unwrap_key(private_key: str, wrapped: bytes, digest: str, mask: str) -> bytes:
    """Return the content key that RSA-OAEP has wrapped for a private key in PEM.

    `digest` is a key of `HASHES`, `mask` one of `MASKS`. Raises ValueError if the key does not fit.
    """
    key = load_private_key(private_key)
    return key.decrypt(wrapped, OAEP(mgf=MGF1(MASKS[mask]()), algorithm=HASHES[digest](), label=None))


def _decrypt_gcm(key: bytes, sealed: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(sealed[:_GCM_NONCE], sealed[_GCM_NONCE:], None)
    except InvalidTag:
        raise ValueError("the content was changed") from None


def _decrypt_cbc(key: bytes, sealed: bytes) -> bytes:
    decryptor = Cipher(AES(key), CBC(sealed[:_BLOCK])).decryptor()
    padded = decryptor.update(sealed[_BLOCK:]) + decryptor.finalize()
    # The last byte counts the bytes of padding; the others are arbitrary (XML Encryption 1.1, 5.2.1).
    if not padded or not 1 <= padded[-1] <= _BLOCK:
        raise ValueError("no padding")
    return padded[: -padded[-1]]


CONTENT: Mapping[str, tuple[int, Callable[[bytes, bytes], bytes]]] = {
    f"{_XENC11}aes128-gcm": (16, _decrypt_gcm),
    f"{_XENC11}aes192-gcm": (24, _decrypt_gcm),
    f"{_XENC11}aes256-gcm": (32, _decrypt_gcm),
    f"{_XENC}aes128-cbc": (16, _decrypt_cbc),
    f"{_XENC}aes192-cbc": (24, _decrypt_cbc),
    f"{_XENC}aes256-cbc": (32, _decrypt_cbc),
}
"""For each algorithm of content: the length of its key in bytes, and its decryption function."""


def decrypt(algorithm: str, key: bytes, sealed: bytes) -> bytes:
    """Return the plaintext. Raises ValueError for a key of the wrong length, and for content that was changed.

    CBC detects few changes, so its plaintext must not be trusted until a signature in it is verified.
    """
    length, decryption = CONTENT[algorithm]
    if len(key) != length:
        raise ValueError("a key for another algorithm")
    return decryption(key, sealed)
