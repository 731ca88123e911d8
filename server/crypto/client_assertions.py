"""Verification of the signatures of OAuth clients (RFC 7515), by joserfc.

The key decides about the algorithm, and only the registered keys count: `jwk`, `jku` and `x5u` of a header are ignored.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import import_key

from domain.oauth_clients.jwks import algorithms_of


def verify_assertion(assertion: str, keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the claims of an assertion if one of these public keys (a JWK Set) has signed it, else None."""
    for key in keys["keys"]:
        claims = _verified(assertion, key, algorithms_of(key))  # defence: O12 algorithm
        if claims is not None:
            return claims
    return None


def _verified(assertion: str, key: Mapping[str, Any], algorithms: Iterable[str]) -> Mapping[str, Any] | None:
    try:
        with warnings.catch_warnings():
            # RFC 9864 replaces the name EdDSA by Ed25519, which not every client knows yet.
            warnings.simplefilter("ignore", SecurityWarning)
            verified = jws.deserialize_compact(assertion, import_key({**key}), algorithms=[*algorithms])
        claims = orjson.loads(verified.payload or b"")
    # A member of the header of a wrong type raises a TypeError.
    except (JoseError, ValueError, TypeError):
        return None
    return claims if isinstance(claims, dict) else None
