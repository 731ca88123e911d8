"""Rows O28 to O34: access tokens that an API verifies with the Python kit, against forged ones.

The keys are made here, and a function publishes them. The TypeScript kit meets the same tokens in
`tests/labs/sdk/consumers/typescript_kit/access_tokens.ts`.
"""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OctKey

from codegen.sdk.python.kit.access_tokens import AccessTokenVerifier
from codegen.sdk.python.kit.errors import ApiError, Forbidden, Unauthenticated, unavailable
from codegen.sdk.python.kit.keys import Keys

ISSUER, ORDERS = "https://auth.example.com", "https://orders.example.com"
INVALID = ("INVALID_TOKEN", 'Bearer error="invalid_token"')

Json = Mapping[str, Any]


def new_key(kid: str) -> ECKey:
    """Return a key that signs by ES256."""
    return ECKey.generate_key("P-256", {"kid": kid, "alg": "ES256", "use": "sig"})


@dataclass
class Issuer:
    """A service that signs whatever it is asked to, and publishes its key."""

    key: ECKey = field(default_factory=lambda: new_key("current"))
    fetches: int = 0
    is_away: bool = False
    seconds: float = 0.0
    """The monotonic clock of the API."""
    now: int = field(default_factory=lambda: int(time.time()))
    """When the tokens are issued."""

    def __post_init__(self) -> None:
        """Create the verifier of the API for orders."""
        keys = Keys(self.published, clock=lambda: self.seconds)
        self.api = AccessTokenVerifier(ISSUER, ORDERS, keys)

    def published(self) -> Json:
        """Return the key document."""
        self.fetches += 1
        if self.is_away:
            raise unavailable()
        return {"keys": [self.key.as_dict(private=False)]}

    def token(self, header: Json | None = None, key: Key | None = None, **claims: Any) -> str:
        """Return an access token that is valid except for what is given; what is None is left out."""
        usual = {
            "iss": ISSUER, "aud": ORDERS, "sub": "ada", "client_id": "app_shop", "iat": self.now,
            "exp": self.now + 600, "scope": "orders:read",
        }  # fmt: skip
        sent = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        protected = {"alg": "ES256", "kid": "current", "typ": "at+jwt", **(header or {})}
        protected = {name: value for name, value in protected.items() if value is not None}
        return jwt.encode(protected, sent, key or self.key, algorithms=[protected["alg"]])

    def refusal(self, token: str, *scopes: str, after: int = 0) -> tuple[str, str | None]:
        """Return the code and the challenge with which the API refuses a token so many seconds after its issue."""
        with pytest.raises(ApiError) as refused:
            self.api.verify(token, self.now + after).require(*scopes)
        return refused.value.code, refused.value.headers().get("WWW-Authenticate")


@pytest.fixture
def issuer() -> Issuer:
    """The service."""
    return Issuer()


FOREIGN = new_key("current")
"""A key that the service does not publish, with the id of one that it does."""


def with_header(token: str, **header: object) -> str:
    """Return a token with another header, whose signature is then of something else."""
    whole = json.dumps({"alg": "ES256", "kid": "current", "typ": "at+jwt", **header}).encode()
    return ".".join([urlsafe_b64encode(whole).decode().rstrip("="), *token.split(".")[1:]])


def unsigned(token: str, algorithm: str) -> str:
    """Return the token without its signature."""
    return with_header(token, alg=algorithm).rpartition(".")[0] + "."


def test_a_valid_token_says_who_may_do_what(issuer: Issuer) -> None:
    of_user = issuer.api.read(f"Bearer {issuer.token(scope='orders:read orders:write')}", "orders:write")
    of_program = issuer.api.read(f"bearer {issuer.token(sub='app_shop')}")

    assert (of_user.user_id, of_user.client_id) == ("ada", "app_shop")
    assert of_user.scopes == {"orders:read", "orders:write"}
    assert (of_program.user_id, of_program.client_id) == (None, "app_shop")


@pytest.mark.parametrize("authorization", [None, "", "Basic YTpi", "DPoP x"])
def test_a_request_without_a_token_is_challenged(issuer: Issuer, authorization: str | None) -> None:
    with pytest.raises(Unauthenticated) as refused:
        issuer.api.read(authorization)

    assert (refused.value.code, refused.value.headers()) == ("UNAUTHORIZED", {"WWW-Authenticate": "Bearer"})


@pytest.mark.threat("O28")
@pytest.mark.parametrize("audience", ["https://reports.example.com", f"{ORDERS}/", "app_shop", ISSUER, None])
def test_a_token_for_somewhere_else_is_refused(issuer: Issuer, audience: str | None) -> None:
    assert issuer.refusal(issuer.token(aud=audience)) == INVALID


@pytest.mark.threat("O29")
@pytest.mark.parametrize("typ", ["JWT", "logout+jwt", "", "at+jwt2", None])
def test_a_token_of_another_type_is_refused(issuer: Issuer, typ: str | None) -> None:
    assert issuer.refusal(issuer.token({"typ": typ})) == INVALID


@pytest.mark.threat("O29")
@pytest.mark.parametrize("typ", ["AT+JWT", "application/at+jwt"])
def test_both_spellings_of_the_type_are_accepted(issuer: Issuer, typ: str) -> None:
    assert issuer.api.verify(issuer.token({"typ": typ})).user_id == "ada"


FORGED: dict[str, Callable[[Issuer], str]] = {
    "none": lambda issuer: unsigned(issuer.token(), "none"),
    "None": lambda issuer: unsigned(issuer.token(), "None"),
    "no signature": lambda issuer: unsigned(issuer.token(), "ES256"),
    "the public key as secret": lambda issuer: issuer.token(
        {"alg": "HS256"}, OctKey.import_key({"kty": "oct", "k": issuer.key.as_dict()["x"]})
    ),
    "another key": lambda issuer: issuer.token(key=FOREIGN),
    "a key in the header": lambda issuer: issuer.token({"jwk": FOREIGN.as_dict(private=False)}, FOREIGN),
    "a type that is a number": lambda issuer: with_header(issuer.token(), typ=7),
    "no key id": lambda issuer: issuer.token({"kid": None}),
    "an extension": lambda issuer: with_header(issuer.token(), crit=["exp"]),
    "another payload": lambda issuer: ".".join(
        [issuer.token().split(".")[0], issuer.token(sub="eve").split(".")[1], issuer.token().split(".")[2]]
    ),
    "nonsense": lambda issuer: "x.y.z",
    "too long": lambda issuer: "." * 9000,
}


@pytest.mark.threat("O30")
@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_is_refused(issuer: Issuer, forge: Callable[[Issuer], str]) -> None:
    assert issuer.refusal(forge(issuer)) == INVALID


@pytest.mark.threat("O30")
def test_a_key_signs_by_its_own_algorithm_only(issuer: Issuer) -> None:
    token = issuer.token()
    parameters = issuer.key.as_dict(private=False)
    keys = Keys(lambda: {"keys": [{**parameters, "alg": "RS256"}]})

    with pytest.raises(Unauthenticated):
        AccessTokenVerifier(ISSUER, ORDERS, keys).verify(token)


@pytest.mark.threat("O31")
def test_forged_key_ids_cause_one_fetch_in_a_minute(issuer: Issuer) -> None:
    valid = issuer.token()
    issuer.api.verify(valid)
    forged = [issuer.token({"kid": f"forged-{number}"}) for number in range(50)]
    with ThreadPoolExecutor(8) as threads:
        refused = set(threads.map(issuer.refusal, forged))

    assert refused == {INVALID}
    assert issuer.fetches == 2
    assert issuer.api.verify(valid).user_id == "ada"
    issuer.seconds = 61
    assert issuer.refusal(forged[0]) == INVALID
    assert issuer.fetches == 3


@pytest.mark.threat("O31")
def test_a_service_that_is_away_is_asked_every_five_seconds(issuer: Issuer) -> None:
    valid = issuer.token()
    issuer.api.verify(valid)
    issuer.is_away, issuer.seconds = True, 1
    for number in range(50):
        assert issuer.refusal(issuer.token({"kid": f"forged-{number}"})) == ("SERVICE_UNAVAILABLE", None)

    assert issuer.fetches == 2
    assert issuer.api.verify(valid).user_id == "ada"


@pytest.mark.threat("O32")
@pytest.mark.parametrize("name", ["https://evil.example", f"{ISSUER}/", f"{ISSUER}.evil.example", None])
def test_a_token_that_names_another_issuer_is_refused(issuer: Issuer, name: str | None) -> None:
    assert issuer.refusal(issuer.token(iss=name)) == INVALID


@pytest.mark.threat("O32")
def test_a_token_of_another_issuer_is_refused(issuer: Issuer) -> None:
    other = Issuer(new_key("other"))

    assert issuer.refusal(other.token({"kid": "other"})) == INVALID


@pytest.mark.threat("O33")
def test_a_token_has_an_end(issuer: Issuer) -> None:
    assert issuer.refusal(issuer.token(exp=None)) == INVALID
    assert issuer.refusal(issuer.token(), after=600 + 62) == INVALID
    assert issuer.refusal(issuer.token(nbf=issuer.now + 120)) == INVALID


@pytest.mark.threat("O33")
@pytest.mark.parametrize("after", [-59, 600 + 59])
def test_clocks_may_differ_by_a_minute(issuer: Issuer, after: int) -> None:
    assert issuer.api.verify(issuer.token(), issuer.now + after).user_id == "ada"


@pytest.mark.threat("O34")
@pytest.mark.parametrize(
    "scope", ["orders:read", "orders:write2 orders:read", "orders orders:read", "", None]
)
def test_a_token_needs_every_scope(issuer: Issuer, scope: str | None) -> None:
    challenge = 'Bearer error="insufficient_scope", scope="orders:read orders:write"'
    refused = issuer.refusal(issuer.token(scope=scope), "orders:read", "orders:write")

    assert refused == ("INSUFFICIENT_SCOPE", challenge)
    assert Forbidden.status == 403


@pytest.mark.threat("O34")
@pytest.mark.parametrize(
    "claims", [{"sub": None}, {"client_id": None}, {"sub": 7}, {"scope": ["orders:read"]}]
)
def test_a_token_names_its_application_and_its_subject(issuer: Issuer, claims: dict[str, Any]) -> None:
    assert issuer.refusal(issuer.token(**claims)) == INVALID
