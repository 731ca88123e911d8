"""Decryption of assertions (XML Encryption 1.1).

AES-CBC does not detect changes of the ciphertext, so an attacker could learn the plaintext if changed variants were
refused differently. Therefore every failure between decryption and signature has the same code, `encryption`.
"""

from base64 import b64decode
from collections.abc import Sequence

from domain.sso.saml import KeyCertificate, SamlRefusal, SamlRefused
from server.crypto import xml_encryption
from server.saml.names import XENC11, ds, xenc
from server.saml.xml import Element, child

_SHA1 = "http://www.w3.org/2000/09/xmldsig#sha1"
_MGF1_SHA1 = f"{XENC11}mgf1sha1"


def decrypt(encrypted: Element, keys: Sequence[KeyCertificate]) -> bytes:
    """Decrypt an EncryptedAssertion with the first of `keys` that fits; return the plaintext. Raises SamlRefused."""
    data = child(encrypted, xenc("EncryptedData"))
    wrapped = None if data is None else _encrypted_key(encrypted, data)
    if data is None or wrapped is None:
        raise SamlRefused(SamlRefusal.ENCRYPTION)
    algorithm = _method(data).get("Algorithm")
    digest, mask = _oaep(_method(wrapped))
    if algorithm not in xml_encryption.CONTENT:  # defence: SSO4 content-algorithm
        raise SamlRefused(SamlRefusal.ENCRYPTION_ALGORITHM)
    for key in keys:
        try:
            content_key = xml_encryption.unwrap_key(key.private_key, _value(wrapped), digest, mask)
            return xml_encryption.decrypt(algorithm, content_key, _value(data))
        except ValueError:
            continue
    raise SamlRefused(SamlRefusal.ENCRYPTION)


def _encrypted_key(encrypted: Element, data: Element) -> Element | None:
    """Return the only encrypted key: in the key information of the content, or next to the content."""
    found = [
        *data.findall(f"{ds('KeyInfo')}/{xenc('EncryptedKey')}"),
        *encrypted.findall(xenc("EncryptedKey")),
    ]
    return found[0] if len(found) == 1 else None


def _method(parent: Element) -> Element:
    method = child(parent, xenc("EncryptionMethod"))
    if method is None:
        raise SamlRefused(SamlRefusal.ENCRYPTION_ALGORITHM)
    return method


def _oaep(method: Element) -> tuple[str, str]:
    """Return the digest and the mask of RSA-OAEP. Raises SamlRefused for other algorithms, such as RSA 1.5."""
    algorithm = method.get("Algorithm")
    named = child(method, ds("DigestMethod"))
    digest = _SHA1 if named is None else named.get("Algorithm")
    mask = _MGF1_SHA1
    if algorithm == xml_encryption.OAEP_11:
        named = child(method, f"{{{XENC11}}}MGF")
        mask = _MGF1_SHA1 if named is None else named.get("Algorithm")
    elif algorithm != xml_encryption.OAEP_MGF1P:  # defence: SSO4 key-algorithm
        raise SamlRefused(SamlRefusal.ENCRYPTION_ALGORITHM)
    has_label = method.find(xenc("OAEPparams")) is not None
    if digest not in xml_encryption.HASHES or mask not in xml_encryption.MASKS or has_label:
        raise SamlRefused(SamlRefusal.ENCRYPTION_ALGORITHM)
    return digest, mask


def _value(parent: Element) -> bytes:
    """Return the bytes of a CipherValue. Raises ValueError."""
    value = parent.findtext(f"{xenc('CipherData')}/{xenc('CipherValue')}")
    return b64decode("".join((value or "").split()), validate=True)
