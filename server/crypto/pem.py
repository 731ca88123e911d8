"""Check private keys in PEM format that operators configure."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key


def is_p256(pem: str) -> bool:
    """Return whether a PEM contains a private key on the curve P-256."""
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1)
