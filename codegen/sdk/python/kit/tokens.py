"""Verify session tokens (JWT) with the published keys of the service, which are cached."""

import threading
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from joserfc import jws, jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import Key, import_key

from .callers import Caller, caller_of_token
from .errors import ApiError, Unauthenticated, unavailable
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


class TokenVerifier:
    """Verifies the tokens that signed-in clients fetch from `/token`, without a request for each."""

    def __init__(self, issuer: str, audience: str, keys: Keys) -> None:
        self.issuer = issuer
        self.audience = audience
        self._keys = keys

    @classmethod
    def of(cls, service: Gatewright, audience: str | None = None) -> "TokenVerifier":
        """Return a verifier with the keys of a service. The audience is by default the first of the service."""
        return cls(service.base_url, audience or service.base_url, keys_of(service))

    def caller(self, authorization: str | None) -> Caller:
        """Return the caller of a request with this header `Authorization`. Raises Unauthenticated, Unavailable."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("UNAUTHORIZED", "Please sign in")
        claims = self.verify(token.strip())
        try:
            return caller_of_token(claims)
        except (*MALFORMED, OverflowError):
            raise _invalid() from None

    def verify(self, token: str, now: int | None = None) -> dict[str, Any]:
        """Return the claims of a token that is valid `now`, in seconds since 1970, by default the current time.

        Raises Unauthenticated and Unavailable.
        """
        if len(token) > LONGEST:
            raise _invalid()
        try:
            header = jws.extract_compact(token.encode()).headers()
            algorithm, kid = header.get("alg"), header.get("kid")
            # Other tokens that the same keys sign, such as `at+jwt`, have another type.
            if header.get("typ") != "JWT" or algorithm not in ALGORITHMS or "crit" in header:
                raise _invalid()
            key = self._keys.find(kid) if isinstance(kid, str) else None
            if key is None or key.alg != algorithm:
                raise _invalid()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)  # The name EdDSA is deprecated (RFC 9864).
                claims = jwt.decode(token, key, algorithms=[algorithm]).claims
            self._required(now).validate(claims)
        except (JoseError, *MALFORMED):
            raise _invalid() from None
        return claims

    def _required(self, now: int | None) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            now=now,
            leeway=LEEWAY,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self.audience},
            exp={"essential": True},
            sub={"essential": True},
        )


def keys_of(service: Gatewright) -> Keys:
    """Return the keys of a service, which are not fetched yet."""

    def fetch() -> KeyDocument:
        document: KeyDocument = service.client.get("/.well-known/jwks.json").json()
        return document

    return Keys(fetch)


def _invalid() -> Unauthenticated:
    return Unauthenticated("INVALID_TOKEN", "The token is not valid")
