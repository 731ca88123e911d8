"""Verification of ID tokens (OpenID Connect Core, 3.1.3.7)."""

import hmac
import warnings
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from authlib.oidc.core.util import create_half_hash
from joserfc import jws
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import Key
from joserfc.jwt import JWTClaimsRegistry

from domain.identity_provider import DIRECT_AGE, LEEWAY, IdentityRefused, SubjectMissing
from server.identity_providers.http_client import DEEPEST
from server.json_depth import depth

LONGEST = 16 * 1024
"""The longest ID token that is read, in characters."""
_LONGEST_HEADER = 4096
_TYPES = frozenset({"jwt", "id_token+jwt"})
"""The accepted values of the header `typ`, in lower case without `application/` (RFC 7515). It may be absent."""
_LOGOUT_TYPES = frozenset({"jwt", "logout+jwt"})
"""The accepted values of the header `typ` of a logout token, in the same form."""
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_AGE = 300
"""Age in seconds above which a logout token is refused."""
_MALFORMED = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""The exceptions that parsing a hostile token raises; a deeply nested header causes RecursionError."""


class SignatureRefused(IdentityRefused):
    """The signature matches no known key."""


KeyOf = Callable[[str | None, str], Awaitable[Key | None]]
"""A function that returns the provider's key with a `kid` (None: the only key) for an algorithm; None if unknown."""


@dataclass(frozen=True, slots=True)
class ExpectedClaims:
    """What a token is checked against: the client, the algorithms of signatures, and the claims that it must have."""

    client_id: str
    algorithms: Sequence[str]
    issuers: Callable[[Mapping[str, Any]], Sequence[str]]
    """A function that gets the token's claims and returns the accepted values of `iss`."""
    now: datetime
    nonce: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    """The access token of the same response. The claim `at_hash`, if present, must match it; None for no check."""
    is_direct: bool = False
    """Whether an application posted the token, which must then be recent; otherwise it came from the provider."""


async def verified(token: str, expected: ExpectedClaims, key_of: KeyOf) -> Mapping[str, Any]:
    """Verify an ID token and return its claims.

    Raises IdentityRefused, SignatureRefused, and the errors of `key_of`.
    """
    signed = await _signed(token, expected, key_of, _TYPES)
    _check_claims(signed.claims, expected)
    _check_key_issuer(signed.claims, signed.key)
    _check_access_token(signed.claims, expected.access_token, signed.algorithm)
    return signed.claims


async def verified_logout(token: str, expected: ExpectedClaims, key_of: KeyOf) -> Mapping[str, Any]:
    """Verify a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6) and return its claims.

    Raises IdentityRefused, SignatureRefused, and the errors of `key_of`.
    """
    signed = await _signed(token, expected, key_of, _LOGOUT_TYPES)
    _check_logout_claims(signed.claims, expected)
    _check_key_issuer(signed.claims, signed.key)
    return signed.claims


class _Signed(NamedTuple):
    """A token with a valid signature."""

    claims: Mapping[str, Any]
    key: Key
    algorithm: str


async def _signed(token: str, expected: ExpectedClaims, key_of: KeyOf, types: Container[str]) -> _Signed:
    """Return a token of one of the types, whose signature is verified. Raises as `verified`."""
    header = _header(token)
    algorithm = header["alg"]
    # defence: V19 SSO15 header-checks
    if algorithm not in expected.algorithms or "crit" in header or not _is_of(types, header.get("typ")):
        raise IdentityRefused
    key = await key_of(header.get("kid"), algorithm)  # defence: V17 own-key
    if key is None:
        raise SignatureRefused
    return _Signed(_signed_claims(token, key, algorithm), key, algorithm)


def unverified_claims(token: str) -> Mapping[str, Any]:
    """Return the claims of a stored token without verifying it again. Raises IdentityRefused if it is malformed."""
    try:
        return _object(_extract(token).payload)
    except _MALFORMED:
        raise IdentityRefused from None


def _header(token: str) -> Mapping[str, Any]:
    """Return the header. Its members `jku`, `x5u` and `jwk`, which a sender can set to its own keys, are not used."""
    try:
        header = _extract(token).headers()
        if isinstance(header["alg"], str) and isinstance(header.get("kid"), str | None):
            return header
    except _MALFORMED:
        raise IdentityRefused from None
    raise IdentityRefused


def _is_of(types: Container[str], kind: object) -> bool:
    """Return whether the header `typ` allows a token of these types. Older providers send none, or that of any JWT.

    The same key signs ID tokens, access tokens (`at+jwt`) and logout tokens (`logout+jwt`), whose claims may look alike
    (RFC 8725, 3.11 and 3.12).
    """
    return kind is None or (isinstance(kind, str) and kind.lower().removeprefix("application/") in types)


def _extract(token: str) -> jws.CompactSignature:
    if len(token) > LONGEST:  # defence: V19 token-size
        raise IdentityRefused
    return jws.extract_compact(token.encode("ascii"), registry=_registry(()))


def _registry(algorithms: Sequence[str]) -> jws.JWSRegistry:
    registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = _LONGEST_HEADER  # defence: V19 header-size
    return registry


def _signed_claims(token: str, key: Key, algorithm: str) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings():
            # The library warns about the deprecated name EdDSA, which providers still use.
            warnings.simplefilter("ignore", SecurityWarning)
            # defence: V19 signature
            content = jws.deserialize_compact(token, key, registry=_registry((algorithm,)))
    except _MALFORMED:
        raise SignatureRefused from None
    try:
        return _object(content.payload)
    except _MALFORMED:
        raise IdentityRefused from None


def _object(payload: bytes) -> Mapping[str, Any]:
    claims = orjson.loads(payload)
    if not isinstance(claims, dict):
        raise TypeError("the claims are no object")
    if depth(claims) > DEEPEST:
        raise ValueError("the claims are nested too deeply")
    return claims


def _check_claims(claims: Mapping[str, Any], expected: ExpectedClaims) -> None:
    seconds = int(expected.now.timestamp())  # defence: V18 claims
    rules = JWTClaimsRegistry(
        now=seconds,
        leeway=LEEWAY,
        iss={"essential": True},
        aud={"essential": True, "value": expected.client_id},  # defence: V18 audience
        exp={"essential": True},  # defence: V18 expiry
        iat={"essential": expected.is_direct},
    )
    try:
        # A subject may be a number, which the registry would refuse.
        rules.validate({name: value for name, value in claims.items() if name != "sub"})
    except _MALFORMED:
        raise IdentityRefused from None
    # defence: V18 issuer
    if claims["iss"] not in expected.issuers(claims) or _is_of_another(claims, expected.client_id):
        raise IdentityRefused
    if expected.is_direct and claims["iat"] < seconds - DIRECT_AGE.total_seconds():  # defence: V18 age
        raise IdentityRefused
    if expected.nonce is not None and claims.get("nonce") != expected.nonce:  # defence: V18 nonce-check
        raise IdentityRefused
    if not claims.get("sub"):
        raise SubjectMissing


def _check_logout_claims(claims: Mapping[str, Any], expected: ExpectedClaims) -> None:
    seconds = int(expected.now.timestamp())
    rules = JWTClaimsRegistry(
        now=seconds,
        leeway=LEEWAY,
        iss={"essential": True},
        aud={"essential": True, "value": expected.client_id},  # defence: SSO15 logout-audience
        iat={"essential": True},
        jti={"essential": True},
    )
    try:
        rules.validate({name: value for name, value in claims.items() if name != "sub"})
        is_logout = isinstance(claims["events"][_LOGOUT_EVENT], dict)
        is_recent = claims["iat"] >= seconds - LOGOUT_AGE - LEEWAY
    except _MALFORMED:
        raise IdentityRefused from None
    named = [claims.get(name) for name in ("sub", "sid")]
    # A nonce is forbidden, so that no ID token passes for a logout token (2.4).
    # defence: SSO15 logout-claims
    if not is_logout or not is_recent or "nonce" in claims or claims["iss"] not in expected.issuers(claims):
        raise IdentityRefused
    if not isinstance(claims["jti"], str) or not any(isinstance(each, str) and each for each in named):
        raise IdentityRefused


def _is_of_another(claims: Mapping[str, Any], client_id: str) -> bool:
    """Return whether a token for several audiences was issued to another client (OpenID Connect Core, 2: `azp`)."""
    audience = claims["aud"]
    # defence: V18 authorized-party
    return isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != client_id


def _check_key_issuer(claims: Mapping[str, Any], key: Key) -> None:
    """Raise IdentityRefused if the key belongs to another issuer. Microsoft names the issuer of each key in its set."""
    named = key.get("issuer")
    if isinstance(named, str) and named.replace("{tenantid}", str(claims.get("tid"))) != claims["iss"]:
        raise IdentityRefused


def _check_access_token(claims: Mapping[str, Any], access_token: str | None, algorithm: str) -> None:
    named = claims.get("at_hash")
    if access_token is None or named is None:
        return
    # The library knows Ed25519 by its old name EdDSA.
    expected = create_half_hash(access_token, "EdDSA" if algorithm == "Ed25519" else algorithm)
    if not isinstance(named, str) or not hmac.compare_digest(named.encode(), expected):
        raise IdentityRefused
