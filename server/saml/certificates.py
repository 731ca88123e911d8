"""The pinned certificates of an identity provider, parsed once."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from domain.sso.saml import MetadataRefused
from server.crypto import certificates

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

MOST = 10
"""Certificates of one provider: each may cost a verification."""


@lru_cache(maxsize=1_000)
def _load(certificate: str) -> "Certificate | None":
    try:
        return certificates.load(certificate)
    except MetadataRefused:
        return None


def load_pinned(pinned: Sequence[str]) -> list["Certificate"]:
    """Return the certificates whose keys are accepted, without the others."""
    return [loaded for loaded in map(_load, pinned[:MOST]) if loaded is not None]
