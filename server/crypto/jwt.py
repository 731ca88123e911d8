"""Key pairs and signed tokens (RFC 7515 to 7519), by joserfc, which is imported when the first key is used."""

import json
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from domain.signing_keys.rotation import KeyPair

if TYPE_CHECKING:
    from joserfc.jwk import Key

RSA_BITS = 2048
"""Twice the bits quadruple the cost of every signature."""


def generate(algorithm: str) -> KeyPair:
    """Return a new key pair for ES256, RS256 or EdDSA, named by its thumbprint (RFC 7638)."""
    from joserfc.jwk import ECKey, OKPKey, RSAKey  # noqa: PLC0415 - see the module

    key: Key
    if algorithm == "ES256":
        key = ECKey.generate_key("P-256")
    elif algorithm == "EdDSA":
        key = OKPKey.generate_key("Ed25519")
    else:
        key = RSAKey.generate_key(RSA_BITS)
    kid, public = key.thumbprint(), key.as_dict(private=False)  # defence: JWT2 public-part
    names = ("kty", "crv", "x", "y", "n", "e")  # defence: JWT2 public-members
    members = {name: public[name] for name in names if name in public}
    published = {**members, "kid": kid, "alg": algorithm, "use": "sig"}
    return KeyPair(kid, algorithm, json.dumps(published), json.dumps(key.as_dict(private=True)))


def import_private(jwk: str) -> "Key":
    """Return the key of a private JSON Web Key."""
    from joserfc.jwk import import_key  # noqa: PLC0415 - see the module

    return import_key(json.loads(jwk))


def sign(key: "Key", algorithm: str, kid: str, claims: Mapping[str, Any], *, typ: str = "JWT") -> str:
    """Return a token signed with a private key."""
    from joserfc import jws  # noqa: PLC0415 - see the module
    from joserfc.errors import SecurityWarning  # noqa: PLC0415

    header = {"alg": algorithm, "kid": kid, "typ": typ}  # defence: JWT4 typ
    payload = orjson.dumps(claims)
    if algorithm != "EdDSA":
        return jws.serialize_compact(header, payload, key, algorithms=[algorithm])
    # RFC 9864 replaces the name EdDSA by Ed25519, which not every verifier understands yet.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return jws.serialize_compact(header, payload, key, algorithms=[algorithm])
