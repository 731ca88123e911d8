"""The signing keys of a provider (RFC 7517); unsupported keys are skipped, so that one new key breaks no other."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from server.identity_providers.http_client import Calls, ProviderError

_MOST = 64
"""Maximum number of keys of a set; further ones are ignored."""
_RSA_BITS = range(2048, 8193)
_KINDS = {"RS": RSAKey, "PS": RSAKey, "ES": ECKey, "Ed": OKPKey}
"""The type of key for each algorithm, by the first two letters of its name."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a JSON Web Key Set with which signatures can be verified."""

    keys: tuple[Key, ...]

    def of(self, kid: str | None, algorithm: str) -> Key | None:
        """Return the key with this `kid` that fits an algorithm; None if there is none.

        If `kid` is None, return the only key that fits the algorithm; None if there are several.
        """
        fitting = [key for key in self.keys if kid in {None, key.kid} and _fits(key, algorithm)]
        return fitting[0] if len(fitting) == 1 or (fitting and kid is not None) else None

    def knows(self, kid: str | None) -> bool:
        """Return whether there is a key with this `kid`; True without a `kid`, which cannot name a new key."""
        return kid is None or any(key.kid == kid for key in self.keys)


async def fetch_keys(calls: Calls, url: str) -> Keys:
    """Fetch a JSON Web Key Set and return its usable keys. Raises ProviderError."""
    reply = await calls.get(url)
    if not reply.is_success:
        raise ProviderError(f"the keys are not there ({reply.status})")
    return keys_of(reply.members.get("keys"))


def keys_of(written: object) -> Keys:
    """Return the usable keys in the member `keys` of a set. Raises ProviderError if there are none."""
    if not isinstance(written, Sequence) or isinstance(written, str):
        raise ProviderError("the keys are no list")
    keys = tuple(key for entry in written[:_MOST] if (key := _key(entry)) is not None)
    if not keys:
        raise ProviderError("there is no key to verify with")
    return Keys(keys)


def _key(written: Any) -> Key | None:
    if not isinstance(written, dict) or written.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    try:
        with warnings.catch_warnings():
            # The library only warns about short keys; they are refused below.
            warnings.simplefilter("ignore", SecurityWarning)
            key = import_key(written)
        key.check_use("sig")
        key.check_key_op("verify")
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    if isinstance(key, RSAKey) and key.public_key.key_size not in _RSA_BITS:
        return None
    return key


def _fits(key: Key, algorithm: str) -> bool:
    return isinstance(key, _KINDS[algorithm[:2]]) and key.get("alg") in {None, algorithm}
