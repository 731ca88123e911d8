"""Verify signatures with the published keys of the service, which are cached."""

import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import httpx
from joserfc import jws, jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import Key, import_key

from .errors import ApiError, Unauthenticated, unavailable

if TYPE_CHECKING:
    from .service import Gatewright

ALGORITHMS = frozenset({"ES256", "RS256", "EdDSA"})
LEEWAY = 60
"""Seconds by which the clocks of the service and of the application may differ."""
LONGEST = 8192
"""Characters of a token."""
MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)

KeyDocument = Mapping[str, Any]


class Keys:
    """The published keys, by `kid`; safe for threads. All times are in seconds.

    They are fetched again when they are older than `refresh_after`, and for an unknown `kid`, but at most once in
    `search_interval`. While the service does not respond, they are used until they are `expire_after` old, and a fetch
    is tried again after `retry_after`.
    """

    def __init__(
        self,
        fetch: Callable[[], KeyDocument],
        *,
        refresh_after: float = 300,
        expire_after: float = 3600,
        search_interval: float = 60,
        retry_after: float = 5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._refresh_after = refresh_after
        self._expire_after = expire_after
        self._search_interval = search_interval
        self._retry_after = retry_after
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, Key] = {}
        self._fetched = self._searched = self._failed = -float("inf")

    def find(self, kid: str) -> Key | None:
        """Return a key, or None if the service does not publish it. Raises Unavailable."""
        # A thread that can do without the fetch of another one does not wait for it.
        if self._must_fetch(kid) and self._lock.acquire(blocking=not self._has(kid)):
            try:
                if self._must_fetch(kid):
                    self._update()
            finally:
                self._lock.release()
        if self._has(kid):
            return self._keys[kid]
        # The key may be a new one if the last fetch has failed.
        if self._failed > self._fetched or self._age() >= self._expire_after:
            raise unavailable()
        return None

    def _age(self) -> float:
        return self._clock() - self._fetched

    def _has(self, kid: str) -> bool:
        return kid in self._keys and self._age() < self._expire_after

    def _must_fetch(self, kid: str) -> bool:
        now = self._clock()
        if now - self._failed < self._retry_after:
            return False
        # defence: O31 search-interval
        is_new = kid not in self._keys and now - self._searched >= self._search_interval
        return is_new or self._age() >= self._refresh_after

    def _update(self) -> None:
        now = self._clock()
        if self._age() < self._refresh_after:
            self._searched = now
        try:
            keys = {key["kid"]: import_key(dict(key)) for key in self._fetch()["keys"]}
        except (ApiError, httpx.HTTPError, JoseError, *MALFORMED):
            self._failed = now
        else:
            self._keys, self._fetched = keys, now


class SignedTokens:
    """Verifies one type of signed tokens: those of an issuer, for an audience."""

    def __init__(
        self, issuer: str, audience: str, keys: Keys, *, typ: str, required: Collection[str] = ("sub",)
    ) -> None:
        self.issuer = issuer
        self.audience = audience
        self._keys = keys
        self._typ = typ.lower()
        self._required = required

    def claims(self, token: str, now: int | None = None) -> dict[str, Any]:
        """Return the claims of a token that is valid `now`, in seconds since 1970, by default the current time.

        Raises Unauthenticated and Unavailable.
        """
        if len(token) > LONGEST:
            raise invalid_token()
        try:
            header = jws.extract_compact(token.encode()).headers()
            algorithm, kid = header.get("alg"), header.get("kid")
            # The same keys sign session tokens, ID tokens, access tokens and logout tokens.
            if not self._is_typ(header["typ"]):  # defence: O29 typ
                raise invalid_token()
            if algorithm not in ALGORITHMS or "crit" in header:  # defence: O30 algorithms
                raise invalid_token()
            key = self._keys.find(kid) if isinstance(kid, str) else None
            if key is None or key.alg != algorithm:  # defence: O30 key-algorithm
                raise invalid_token()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)  # The name EdDSA is deprecated (RFC 9864).
                claims = jwt.decode(token, key, algorithms=[algorithm]).claims
            self._registry(now).validate(claims)
        except (JoseError, *MALFORMED):
            raise invalid_token() from None
        return claims

    def _is_typ(self, typ: str) -> bool:
        return typ.lower().removeprefix("application/") == self._typ

    def _registry(self, now: int | None) -> jwt.JWTClaimsRegistry:
        essential: dict[str, Any] = {name: {"essential": True} for name in self._required}
        return jwt.JWTClaimsRegistry(
            now=now,
            leeway=LEEWAY,  # defence: O33 leeway
            iss={"essential": True, "value": self.issuer},  # defence: O32 issuer
            aud={"essential": True, "value": self.audience},  # defence: O28 audience
            exp={"essential": True},  # defence: O33 end
            **essential,
        )


def keys_of(service: "Gatewright") -> Keys:
    """Return the keys of a service, which are not fetched yet."""

    def fetch() -> KeyDocument:
        document: KeyDocument = service.client.get("/.well-known/jwks.json").json()
        return document

    return Keys(fetch)


def bearer_of(authorization: str | None) -> str:
    """Return the token in a header `Authorization`. Raises Unauthenticated."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated("UNAUTHORIZED", "Please sign in")
    return token.strip()


def invalid_token() -> Unauthenticated:
    """Return the error for a token that is not valid (RFC 6750, section 3.1)."""
    challenge = 'Bearer error="invalid_token"'
    return Unauthenticated("INVALID_TOKEN", "The token is not valid", challenge=challenge)
