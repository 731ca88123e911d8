"""Key pairs and signed tokens (RFC 7515 to 7519), by joserfc; `server.components.jwt` loads this module when needed."""

import json
import warnings
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from joserfc import jws
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from domain.jwt.rotation import KeyPair
from server.crypto import client_assertions

verify_assertion = client_assertions.verify_assertion

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


def import_jwk(jwk: str) -> Key:
    """Import a JSON Web Key, private or public."""
    return import_key(json.loads(jwk))


def sign(key: Key, algorithm: str, kid: str, claims: Mapping[str, Any], typ: str = "JWT") -> str:
    """Return a JWT of these claims, signed with a private key. Its header has `algorithm`, `kid` and `typ`."""
    # Explicit typing: a token of another kind, signed by the same key, must not be accepted as this one (RFC 8725,
    # 3.11).
    header = {"alg": algorithm, "kid": kid, "typ": typ}  # defence: JWT4 typ
    payload = orjson.dumps(claims)
    with _without_warning(algorithm):
        return jws.serialize_compact(header, payload, key, algorithms=[algorithm])


def kid_of(token: str) -> str | None:
    """Return the key id in the header of a token, which is not verified; None for a malformed token."""
    try:
        kid = _header(token)["kid"]
    except (LookupError, TypeError, ValueError):
        return None
    return kid if isinstance(kid, str) else None


def verify(key: Key, algorithm: str, kid: str, token: str, typ: str = "JWT") -> Mapping[str, Any] | None:
    """Return the claims if this key has signed the token and its header is exactly that of `sign`, else None.

    Times in the claims are not checked.
    """
    # The header is what `sign` writes and nothing else: no other algorithm, no key of its own, no `crit`.
    try:
        if _header(token) != {"alg": algorithm, "kid": kid, "typ": typ}:  # defence: JWT19 header
            return None
        with _without_warning(algorithm):
            # defence: JWT19 signature
            payload = jws.deserialize_compact(token, key, algorithms=[algorithm]).payload
        claims = orjson.loads(payload)
    except (JoseError, ValueError):
        return None
    return claims if isinstance(claims, dict) else None


def _header(token: str) -> Any:
    """Return the header of a token. Raises ValueError."""
    encoded = token.partition(".")[0]
    return orjson.loads(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))


@contextmanager
def _without_warning(algorithm: str) -> Iterator[None]:
    """Suppress the warning about the name EdDSA: RFC 9864 has a new one, which not every verifier understands yet."""
    if algorithm != "EdDSA":
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        yield
