"""Key pairs and signed tokens (RFC 7515 to 7519), by joserfc; `server.components.jwt` loads this module when needed."""

import json
import warnings
from collections.abc import Mapping
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from domain.jwt.rotation import KeyPair

RSA_BITS = 2048
"""Bits of an RSA key. Twice the bits would quadruple the cost of every signature."""


def generate(algorithm: str) -> KeyPair:
    """Return a new key pair for ES256, RS256 or EdDSA, named by its thumbprint (RFC 7638).

    The name never begins with a hyphen, which commands would read as an option.
    """
    key = _new_key(algorithm)
    while (kid := key.thumbprint()).startswith("-"):
        key = _new_key(algorithm)
    public = key.as_dict(private=False)  # defence: JWT2 public-part
    # A list of what is published, so that a member that a new version of the library adds cannot leak.
    names = ("kty", "crv", "x", "y", "n", "e")  # defence: JWT2 public-members
    members = {name: public[name] for name in names if name in public}
    published = {**members, "kid": kid, "alg": algorithm, "use": "sig"}
    return KeyPair(kid, algorithm, json.dumps(published), json.dumps(key.as_dict(private=True)))


def _new_key(algorithm: str) -> Key:
    if algorithm == "ES256":
        return ECKey.generate_key("P-256")
    if algorithm == "EdDSA":
        return OKPKey.generate_key("Ed25519")
    return RSAKey.generate_key(RSA_BITS)


def import_private(jwk: str) -> Key:
    """Import a private JSON Web Key."""
    return import_key(json.loads(jwk))


def sign(key: Key, algorithm: str, kid: str, claims: Mapping[str, Any], *, typ: str = "JWT") -> str:
    """Return a token signed with a private key."""
    # Explicit typing: a token of another kind, signed by the same key, must not be accepted as this one (RFC 8725,
    # 3.11).
    header = {"alg": algorithm, "kid": kid, "typ": typ}  # defence: JWT4 typ
    payload = orjson.dumps(claims)
    if algorithm != "EdDSA":
        return jws.serialize_compact(header, payload, key, algorithms=[algorithm])
    # RFC 9864 replaces the name EdDSA by Ed25519, which not every verifier understands yet.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return jws.serialize_compact(header, payload, key, algorithms=[algorithm])
