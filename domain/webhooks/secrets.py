"""The secrets of webhook endpoints, in the form of Standard Webhooks: `whsec_` and the base64 of the key.

Also defines the endpoints of the configuration, because each contains its secret.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field

from domain import tokens

_PREFIX = "whsec_"
_LEAST, _MOST, _OURS = 24, 64, 32
"""Bytes of a key: at least, at most, and of one that is created here."""


@dataclass(frozen=True, slots=True)
class ConfiguredEndpoint:
    """An endpoint from the configuration."""

    url: str
    secret: str = field(repr=False)
    events: Sequence[str]
    description: str | None


def create() -> str:
    """Return a new secret of 32 random bytes."""
    return _PREFIX + base64.b64encode(tokens.random_bytes(_OURS)).decode()


def is_secret(text: str) -> bool:
    """Return whether a text has the form of a secret: `whsec_` and the standard base64 of 24 to 64 bytes."""
    if not text.startswith(_PREFIX):
        return False
    try:
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return False
    return _LEAST <= len(key) <= _MOST
