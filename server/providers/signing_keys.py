"""Keys that client secrets are signed with; imported where one is configured (server/providers/checks.py)."""

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key


def is_p256(pem: str) -> bool:
    """Whether the PEM is that of a private key on the curve P-256."""
    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError):
        return False
    return isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1)
