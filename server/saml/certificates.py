"""The pinned certificates of an identity provider, parsed once."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from domain.sso.saml import MetadataRefused
from server.crypto import certificates

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

MOST = 10
"""The most certificates of one provider, because each may cost a verification of a signature."""


@lru_cache(maxsize=1_000)
def _load(certificate: str) -> "Certificate | None":
    try:
        return certificates.load(certificate)
    except MetadataRefused:
        return None


def load_pinned(pinned: Sequence[str]) -> list["Certificate"]:
    """Parse pinned certificates; leave out those whose keys are not accepted, such as weak ones."""
    return [loaded for loaded in map(_load, pinned[:MOST]) if loaded is not None]
