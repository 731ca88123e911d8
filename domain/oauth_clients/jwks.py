"""Checks of the public keys with which the assertions of clients are verified (RFC 7517)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

MOST_KEYS = 5

_BASE64URL = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PUBLIC = {"RSA": ("n", "e"), "EC": ("x", "y"), "OKP": ("x",)}
"""The members of a public key by its type; others, such as those of a private one, are refused or left out."""

_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_ALGORITHMS = {"RSA": ("RS256", "PS256"), "EC": ("ES256",), "OKP": ("EdDSA", "Ed25519")}
_CURVES = {"EC": "P-256", "OKP": "Ed25519"}
_SHORTEST_MODULUS = 256
"""Bytes of the modulus of an RSA key (2048 bits)."""
_LONGEST_MODULUS = 1024
_LONGEST_EXPONENT = 8
_COORDINATE = 32
"""Bytes of a coordinate of P-256, and of a key of Ed25519."""
_LONGEST_KID = 256


def problem(sent: object) -> str | None:
    """Return what is wrong with a set of keys, as the end of a sentence; None if the set is acceptable.

    It must have 1 to 5 public keys for RS256, PS256, ES256 or EdDSA.
    """
    keys = sent.get("keys") if isinstance(sent, Mapping) else None
    if not isinstance(keys, list) or not 1 <= len(keys) <= MOST_KEYS:
        return f"must have 1 to {MOST_KEYS} keys for a client that authenticates by private_key_jwt"
    for number, key in enumerate(keys):
        for found in _problems(key):
            return f"has a key that {found}, number {number + 1}"
    return None


def cleaned(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return a set without problems, with only the members that public keys need."""
    return {"keys": [_cleaned(key) for key in sent["keys"]]}


def algorithms_of(key: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the signature algorithms for which a key may be used: the one in `alg`, else all of its type."""
    return (key["alg"],) if "alg" in key else _ALGORITHMS[key["kty"]]


def _cleaned(key: Mapping[str, Any]) -> dict[str, Any]:
    names = ("kty", "crv", "kid", "alg", *_PUBLIC[key["kty"]])
    return {name: key[name] for name in names if name in key}


def _problems(key: object) -> Iterator[str]:
    """Yield what is wrong with a key."""
    if not isinstance(key, Mapping) or key.get("kty") not in ("RSA", "EC", "OKP"):
        yield "has a kty other than RSA, EC and OKP"
        return
    kind: str = key["kty"]
    if _PRIVATE & key.keys():
        yield "is private"
    if kind in _CURVES and key.get("crv") != _CURVES[kind]:
        yield f"has a curve other than {_CURVES[kind]}"
    if "alg" in key and key["alg"] not in _ALGORITHMS[kind]:
        yield "has an alg other than RS256, PS256, ES256 and EdDSA"
    kid = key.get("kid", "")
    if not isinstance(kid, str) or len(kid) > _LONGEST_KID:
        yield "has a kid that is too long"
    if key.get("use", "sig") != "sig":
        yield "is not for signatures"
    if not all(_is_size(kind, name, key.get(name)) for name in _PUBLIC[kind]):
        yield "is malformed"


def _is_size(kind: str, name: str, value: object) -> bool:
    """Return whether a member is a base64url number of the right length."""
    if not isinstance(value, str) or not _BASE64URL.fullmatch(value):
        return False
    length = len(value) * 3 // 4
    if kind != "RSA":
        return length == _COORDINATE
    return (
        _SHORTEST_MODULUS <= length <= _LONGEST_MODULUS if name == "n" else 1 <= length <= _LONGEST_EXPONENT
    )
