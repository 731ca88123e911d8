"""Certificates of identity providers, and the keys that this service has for each provider (X.509, by cryptography).

Certificates only carry keys here, which are pinned: no chain is built, and an expired one still verifies.
"""

from base64 import b64decode
from datetime import datetime, timedelta
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from domain.sso.saml import CertificateFacts, KeyCertificate, MetadataRefused

RSA_BITS = range(2048, 8193)
CURVES = ("secp256r1", "secp384r1", "secp521r1")
LIFETIME = timedelta(days=3650)
"""How long a certificate of this service is valid. Many providers refuse one that has expired."""
_NOT_YET = timedelta(hours=1)
"""How long before its creation a certificate becomes valid, for providers whose clock is behind."""
_MOST_CHARACTERS = 16_384
_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
_NOT_A_CERTIFICATE = "X509Certificate is not a certificate: copy it from the provider again."
_HASHES = {256: hashes.SHA256(), 384: hashes.SHA384(), 512: hashes.SHA512()}


def load(certificate: str) -> x509.Certificate:
    """Load a certificate in PEM or, as in SAML metadata, in base64. Raises MetadataRefused, also for a weak key."""
    if len(certificate) > _MOST_CHARACTERS:
        raise MetadataRefused(_NOT_A_CERTIFICATE)
    try:
        # A pattern with white space at both ends would take time that grows with its cube.
        encoded = certificate.encode("ascii").strip().removeprefix(_BEGIN).removesuffix(_END)
        loaded = x509.load_der_x509_certificate(b64decode(b"".join(encoded.split()), validate=True))
        key = loaded.public_key()
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
        raise MetadataRefused(_NOT_A_CERTIFICATE) from None
    is_rsa = isinstance(key, rsa.RSAPublicKey) and key.key_size in RSA_BITS
    is_curve = isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES
    if not is_rsa and not is_curve:  # defence: SSO4 weak
        raise MetadataRefused(
            "X509Certificate has a key that is not accepted: use RSA with 2048 to 8192 bits, or P-256, P-384 or P-521."
        )
    return loaded


def facts(certificate: str) -> CertificateFacts:
    """Return subject, fingerprint, validity and PEM of a certificate that `load` accepts. Raises MetadataRefused."""
    loaded = load(certificate)
    try:
        subject = loaded.subject.rfc4514_string()
    except ValueError:
        raise MetadataRefused("X509Certificate has a subject that cannot be read.") from None
    pem = loaded.public_bytes(serialization.Encoding.PEM).decode()
    return CertificateFacts(
        subject, fingerprint(loaded), loaded.not_valid_before_utc, loaded.not_valid_after_utc, pem
    )


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def der(certificate: str) -> bytes:
    """Return the DER form of a certificate that `load` accepts. Raises MetadataRefused."""
    return load(certificate).public_bytes(serialization.Encoding.DER)


def generate(common_name: str, now: datetime) -> KeyCertificate:
    """Return a new RSA key of 2048 bits with a self-signed certificate."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    # The library counts bytes where the standard allows 64 characters (RFC 5280, appendix A).
    short = common_name.encode()[:64].decode(errors="ignore")
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, short)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _NOT_YET)
        .not_valid_after(now + LIFETIME)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyCertificate(private.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode())


def sign_rsa_sha256(private_key: str, message: bytes) -> bytes:
    """Return the RSASSA-PKCS1-v1_5 signature with SHA-256 by a private key in PEM. Raises ValueError."""
    return load_private_key(private_key).sign(message, padding.PKCS1v15(), hashes.SHA256())


# The checks of a key cost 28 ms, fifteen times as much as a response. Few connections have keys of their own.
@lru_cache(maxsize=256)
def load_private_key(private_key: str) -> rsa.RSAPrivateKey:
    """Load a private RSA key in PEM. Raises ValueError for other keys."""
    try:
        key = serialization.load_pem_private_key(private_key.encode(), password=None)
    except (TypeError, UnsupportedAlgorithm) as fault:
        raise ValueError("not a private key in PEM without a password") from fault
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("not an RSA key")
    return key


def has_signed(
    certificate: x509.Certificate, family: str, bits: int, message: bytes, signature: bytes
) -> bool:
    """Return whether a certificate's key made the signature of `message`.

    `family` is `rsa` or `ecdsa`; `bits` is the length of the SHA-2 hash (256, 384 or 512).
    """
    key, algorithm = certificate.public_key(), _HASHES[bits]
    try:
        if family == "rsa" and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), algorithm)
            return True
        if family == "ecdsa" and isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(_asn1(signature), message, ec.ECDSA(algorithm))
            return True
    except InvalidSignature:
        pass
    return False


def _asn1(signature: bytes) -> bytes:
    """Return the ASN.1 form of an ECDSA signature: XML Signature 1.1 (6.4.3) joins the two numbers."""
    half = len(signature) // 2
    return encode_dss_signature(
        int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    )
