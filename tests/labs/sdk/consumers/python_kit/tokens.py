"""Tokens and keys: a key store that is away, a key that changes, a clock that is wrong.

Keys are made here and "fetched" by a function; the clock is a number. It prints nothing but what goes wrong.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from gatewright_client.kit.errors import ApiError, Unauthenticated, Unavailable, unavailable
from gatewright_client.kit.keys import Keys
from gatewright_client.kit.tokens import TokenVerifier
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

ISSUER, AUDIENCE = "https://auth.example.com", "https://api.example.com"
NOW = int(time.time())


class Store:
    """A key store: the keys that it publishes, whether it responds, and how often it was asked."""

    def __init__(self, *keys: ECKey) -> None:
        self.keys = list(keys)
        self.is_away = False
        self.requests = 0
        self.seconds = 0.0

    def fetch(self) -> dict[str, Any]:
        self.requests += 1
        if self.is_away:
            raise unavailable()
        return {"keys": [key.as_dict(private=False) for key in self.keys]}

    def verifier(self) -> TokenVerifier:
        return TokenVerifier(ISSUER, AUDIENCE, Keys(self.fetch, clock=lambda: self.seconds))


def new_key() -> ECKey:
    key = ECKey.generate_key("P-256", {"alg": "ES256", "use": "sig"})
    key.ensure_kid()
    return key


def token(key: ECKey, *, header: dict[str, Any] | None = None, **changes: Any) -> str:
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": NOW,
        "exp": NOW + 300,
        "auth_time": NOW,
        **changes,
    }
    return jwt.encode({"alg": "ES256", "kid": key.kid, "typ": "JWT", **(header or {})}, claims, key)


def code_of(call: Callable[[], object], kind: type[ApiError]) -> str:
    """Return the code of the error that a call raises, which must be of this kind."""
    try:
        call()
    except kind as error:
        return error.code
    raise AssertionError(f"no {kind.__name__}")


def a_store_that_is_away() -> None:
    key = new_key()
    store = Store(key)
    verifier, known, unknown = store.verifier(), token(key), token(new_key())

    # Before the first fetch nothing can be verified; the store is asked every five seconds, not for every token.
    store.is_away = True
    for _ in range(3):
        assert code_of(lambda: verifier.verify(known), Unavailable) == "SERVICE_UNAVAILABLE"
    assert store.requests == 1

    store.is_away, store.seconds = False, 5
    assert verifier.verify(known)["sub"] == "ada"
    assert store.requests == 2

    # Cached keys outlive the store by an hour. An unknown key may be a new one, so the token is not called invalid.
    store.is_away, store.seconds = True, 5 + 3599
    assert verifier.verify(known)["sub"] == "ada"
    code_of(lambda: verifier.verify(unknown), Unavailable)
    store.seconds = 5 + 3600
    code_of(lambda: verifier.verify(known), Unavailable)

    store.is_away, store.seconds = False, 5 + 3605
    assert verifier.verify(known)["sub"] == "ada"
    assert code_of(lambda: verifier.verify(unknown), Unauthenticated) == "INVALID_TOKEN"


def a_key_that_changes() -> None:
    old, new, newest = new_key(), new_key(), new_key()
    store = Store(old)
    verifier = store.verifier()
    assert verifier.verify(token(old))["sub"] == "ada"

    # A token of a new key is verified at once, by one more request; those of the old key go on.
    store.keys, store.seconds = [new, old], 1
    for key in (new, old, new):
        assert verifier.verify(token(key))["sub"] == "ada"
    assert store.requests == 2

    # Unknown keys cause one request in a minute, however many tokens name them.
    store.keys = [newest]
    for _ in range(10):
        code_of(lambda: verifier.verify(token(newest)), Unauthenticated)
    assert store.requests == 2
    store.seconds = 61
    assert verifier.verify(token(newest))["sub"] == "ada"

    # A key that was revoked is refused with the next fetch, after five minutes at most.
    assert code_of(lambda: verifier.verify(token(old)), Unauthenticated) == "INVALID_TOKEN"


def a_clock_that_is_wrong() -> None:
    key = new_key()
    verifier = Store(key).verifier()
    valid = token(key)

    # The application is a minute ahead (the token seems expired) or behind (it seems to be from the future).
    for now in (NOW - 60, NOW, NOW + 300, NOW + 359):
        assert verifier.verify(valid, now)["sub"] == "ada"
    for now in (NOW - 62, NOW + 362):
        assert code_of(partial(verifier.verify, valid, now), Unauthenticated) == "INVALID_TOKEN"


def what_is_no_session_token() -> None:
    key = new_key()
    verifier = Store(key).verifier()
    secret = OctKey.import_key("x" * 32)
    forged = jwt.encode(
        {"alg": "HS256", "kid": key.kid, "typ": "JWT"}, {"iss": ISSUER, "aud": AUDIENCE}, secret
    )
    refused = [
        "",
        "x.y.z",
        "." * 9000,
        forged,
        token(key)[:-4] + "AAAA",
        token(key, header={"typ": "at+jwt"}),
        token(key, header={"kid": "../../etc/passwd"}),
        token(key, iss="https://other.example.com"),
        token(key, aud="https://other.example.com"),
        token(key, exp=None),
        token(key, exp=NOW - 3600),
    ]
    for text in refused:
        assert code_of(partial(verifier.verify, text), Unauthenticated) == "INVALID_TOKEN"

    caller = verifier.caller(
        f"Bearer {token(key, role='user,admin', emailVerified=True, act={'sub': 'root'})}"
    )
    assert (caller.user_id, caller.roles, caller.email_verified) == ("ada", {"user", "admin"}, True)
    assert caller.impersonated_by == "root"
    for header in (None, "Bearer", f"Basic {token(key)}"):
        code_of(partial(verifier.caller, header), Unauthenticated)


if __name__ == "__main__":
    a_store_that_is_away()
    a_key_that_changes()
    a_clock_that_is_wrong()
    what_is_no_session_token()
