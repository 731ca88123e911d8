"""Rows JWT1 to JWT18, as far as one instance shows them: signed tokens for other services.

Tokens of other kinds (JWT1, JWT4, JWT17) are shown to the verifier of the guide: the service itself verifies none.
"""

import hmac
import importlib.util
import io
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from joserfc import jws, jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from domain.jwt import rotation
from server.components.jwt import SigningKeyStore
from server.crypto import jwt as signer
from server.crypto.keyring import Keyring
from tests.conftest import MakeService, SignIn
from tests.docs.typing_in import blocks, guide
from tests.handlers.steps import ADA, bearer, code, execute, set_user, token_of
from tests.processor import processor_seconds
from tests.service import BASE_URL, START, Service

SECRET = "s" * 32
NAMES = ('Ada "the" O\'Hara \\ </script>', "\U0001f600" * 256, "\u0661\u0645\u0627", "a\u0301\u00e9")


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """The service with new keys, by default of the algorithm that costs little."""
    algorithms = getattr(request, "param", "ES256")
    service = await make_service(
        {"secrets": SECRET, "jwt.algorithms": algorithms, "jwt.claims": "name,email"}
    )
    await service.services.port[SigningKeyStore].prepare()
    return service


with_rsa = pytest.mark.parametrize("service", ["ES256,RS256"], indirect=True)
"""Run a test with an RSA key too, which takes a fifth of a second to make."""


@pytest.fixture
async def now(service: Service) -> datetime:
    """Set the service to the present, which is the time of verifiers; give it."""
    service.clock.now = datetime.now(UTC)
    await service.services.port[SigningKeyStore].prepare()
    return service.clock.now


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The verifier of the guide."""
    [block] = [block for block in blocks(guide("verify-tokens"), "python") if block.title == "tokens.py"]
    place: Path = tmp_path_factory.mktemp("sample") / "sample_tokens.py"
    place.write_text(block.text, "utf-8")
    spec = importlib.util.spec_from_file_location("sample_tokens", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Verify = Callable[[str], bool]


@pytest.fixture
async def document(service: Service, now: datetime) -> dict[str, Any]:
    return dict((await service.get("/jwks")).json())


@pytest.fixture
def fetches() -> list[float]:
    """When the key document was fetched."""
    return []


@pytest.fixture
def accepts(sample: Any, document: dict[str, Any], fetches: list[float], now: datetime) -> Verify:
    """Return whether the verifier of the guide accepts a token."""

    def fetch() -> dict[str, Any]:
        fetches.append(time.monotonic())
        return document

    keys = sample.Keys(fetch)
    trusted = {"issuer": BASE_URL, "audience": BASE_URL, "now": int(now.timestamp())}

    def accepts(token: str) -> bool:
        try:
            return bool(sample.verify(token, keys, **trusted))
        except sample.InvalidToken:
            return False

    return accepts


async def private_keys(service: Service) -> dict[str, tuple[str, Any]]:
    """Return by algorithm the id and the private key of what signs, which a thief of database and secret has."""
    rows = await service.rows(
        "SELECT kid, algorithm, private_jwk FROM signing_key WHERE private_jwk IS NOT NULL"
    )
    keyring = Keyring([SECRET])
    opened = {row.algorithm: (row.kid, keyring.decrypt(rotation.PURPOSE, row.private_jwk)) for row in rows}
    return {name: (kid, signer.import_jwk(jwk or "")) for name, (kid, jwk) in opened.items()}


def encoded(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def forged(header: dict[str, Any], claims: dict[str, Any], secret: bytes = b"") -> str:
    """Return a token with a made-up header: unsigned, or by HMAC with a secret."""
    content = f"{encoded({'typ': 'JWT', **header})}.{encoded(claims)}"
    signature = hmac.digest(secret, content.encode(), "sha256") if secret else b""
    return f"{content}.{urlsafe_b64encode(signature).decode().rstrip('=')}"


def claims_at(now: datetime, **changes: Any) -> dict[str, Any]:
    whole = int(now.timestamp())
    claims = {"iss": BASE_URL, "aud": BASE_URL, "sub": "x" * 32, "iat": whole, "exp": whole + 300}
    return {name: value for name, value in {**claims, **changes}.items() if value is not None}


async def issued(service: Service, headers: dict[str, str]) -> str:
    answer = await service.get("/token", headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


async def claims_of(service: Service, headers: dict[str, str]) -> dict[str, Any]:
    keys = KeySet.import_key_set((await service.get("/jwks")).json())
    return dict(jwt.decode(await issued(service, headers), keys, algorithms=["ES256"]).claims)


class TestForgery:
    @with_rsa
    @pytest.mark.threat("JWT1")
    async def test_what_is_signed_otherwise_is_refused_without_a_fetch(
        self, service: Service, now: datetime, accepts: Verify, fetches: list[float], document: dict[str, Any]
    ) -> None:
        keys, claims = await private_keys(service), claims_at(now)
        (es, key), (rs, _) = keys["ES256"], keys["RS256"]
        own = signer.generate("ES256")
        thief = signer.import_jwk(own.private_jwk)
        assert accepts(signer.sign(key, "ES256", es, claims))

        public = json.dumps(document["keys"][0]).encode()
        pem = RSAKey.import_key(dict(document["keys"][1])).as_pem(private=False)
        jwk = json.loads(own.public_jwk)
        places = [{"jwk": jwk}, {"jku": "https://evil.test/keys"}, {"x5u": "https://evil.test/cert"}]

        def by_thief(header: dict[str, Any]) -> str:
            whole = {"typ": "JWT", "alg": "ES256", "kid": own.kid, **header}
            return jws.serialize_compact(whole, json.dumps(claims), thief, algorithms=["ES256"])

        tokens = [
            forged({"alg": "none", "kid": es}, claims),
            forged({"alg": "None", "kid": es}, claims),
            forged({"alg": "HS256", "kid": es}, claims, public),
            forged({"alg": "HS256", "kid": rs}, claims, pem),
            signer.sign(key, "ES256", rs, claims),
            signer.sign(thief, "ES256", es, claims),
            *(by_thief(place) for place in places),
            *(by_thief({"kid": es, **place}) for place in places),
            signer.sign(key, "ES256", es, claims)[:-4],
            "",
            "a.b.c",
            "x" * 100_000,
        ]

        assert [token for token in tokens if accepts(token)] == []
        assert len(fetches) == 1

    @pytest.mark.threat("JWT4", "JWT13")
    async def test_type_and_claims_are_checked_with_a_leeway(
        self, service: Service, now: datetime, accepts: Verify
    ) -> None:
        kid, key = (await private_keys(service))["ES256"]
        whole = int(now.timestamp())

        for typ in ("at+jwt", "logout+jwt", "application/at+jwt", "jwt", ""):
            assert not accepts(signer.sign(key, "ES256", kid, claims_at(now), typ=typ)), typ
        for changes, is_accepted in (
            ({}, True),
            ({"aud": "app_12345"}, False),
            ({"aud": None}, False),
            ({"iss": "https://evil.test"}, False),
            ({"exp": None}, False),
            ({"exp": whole - 59}, True),
            ({"exp": whole - 60}, False),
            ({"iat": whole + 59}, True),
        ):
            assert accepts(signer.sign(key, "ES256", kid, claims_at(now, **changes))) == is_accepted, changes

    @pytest.mark.threat("JWT17")
    async def test_an_odd_key_id_is_an_unknown_key(
        self, service: Service, now: datetime, accepts: Verify, fetches: list[float]
    ) -> None:
        signature = encoded(OctKey.generate_key(256).thumbprint())
        odd_ids: list[Any] = ["k" * 10_000, "../../etc/passwd", "' OR 1=1 --", "\u0000", "", 1, None, [], {}]
        for kid in odd_ids:
            header = {"alg": "ES256", "typ": "JWT", "kid": kid}
            token = f"{encoded(header)}.{encoded(claims_at(now))}.{signature}"
            assert not accepts(token), kid

            with processor_seconds() as spent:
                verdicts = [accepts(token) for _ in range(100)]
                seconds = spent() / 100

            assert (any(verdicts), seconds < 0.001) == (False, True), (kid, seconds)
        assert len(fetches) == 1


class TestOurOwnOperations:
    @pytest.mark.threat("JWT3")
    async def test_a_signed_token_is_no_session(self, service: Service, sign_up: SignIn) -> None:
        token = await issued(service, await sign_up())

        answers = [
            await service.get("/get-session", headers=bearer(token)),
            await service.get("/get-session", headers={"Cookie": f"service.session-token={token}"}),
            await service.get("/get-session", params={"token": token, "access_token": token}),
            await service.get("/token", headers=bearer(token)),
        ]

        assert {code(answer) for answer in answers} == {"401 UNAUTHORIZED"}

    @pytest.mark.threat("JWT5")
    async def test_an_audience_that_is_not_configured_is_refused(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up()
        for query in (
            "audience=https%3A%2F%2Fevil.test", "audience=", "audience=app_1", f"audience={BASE_URL}/",
            f"audience={BASE_URL}&audience={BASE_URL}", f'audience=["{BASE_URL}"]', "audience=" + "x" * 6000,
            "audience=%00", f"audience={BASE_URL}%20",
        ):  # fmt: skip
            refused = code(await service.get(f"/token?{query}", headers=ada))
            assert refused in ("400 AUDIENCE_NOT_ALLOWED", "400 VALIDATION_ERROR"), query

    @pytest.mark.threat("JWT7")
    @pytest.mark.parametrize(("left", "life"), [(30, 30), (0.5, 0), (299, 299), (301, 300)])
    async def test_a_token_ends_with_its_session(
        self, service: Service, sign_up: SignIn, left: float, life: int
    ) -> None:
        ada = await sign_up(rememberMe=False)
        service.clock.advance(days=1, seconds=-left)

        claims = await claims_of(service, ada)

        assert claims["exp"] - service.clock.now.timestamp() == pytest.approx(life, abs=1)
        assert claims["exp"] <= START.timestamp() + 86400

    @pytest.mark.threat("JWT15")
    async def test_names_and_addresses_are_those_of_now_and_may_have_any_letters(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up()
        before = await claims_of(service, ada)

        for name in NAMES:
            await service.post("/update-user", {"name": name}, headers=ada)
            assert (await claims_of(service, ada))["name"] == name
        await execute(service, "UPDATE \"user\" SET email = 'new@example.com', name = 'Ada\u2028King'")
        after = await claims_of(service, ada)

        assert before["email"] == ADA
        assert (after["email"], after["name"]) == ("new@example.com", "Ada\u2028King")

    @pytest.mark.threat("JWT16")
    async def test_an_impersonated_session_names_who_acts(self, service: Service, sign_up: SignIn) -> None:
        ada, admin = await sign_up(), await sign_up("admin@example.com")
        plain, own = await claims_of(service, ada), await claims_of(service, admin)
        await set_user(service, "admin@example.com", role="admin")
        opened = await service.post("/admin/impersonate-user", {"userId": plain["sub"]}, headers=admin)

        acting = await claims_of(service, bearer(opened.json()["session"]["token"]))

        assert ("act" in plain, acting["act"], acting["sub"]) == (False, {"sub": own["sub"]}, plain["sub"])


class TestSecrecy:
    @with_rsa
    @pytest.mark.threat("JWT2", "JWT18")
    async def test_no_private_key_and_no_token_leaves(
        self, service: Service, sign_up: SignIn, log_stream: io.BytesIO
    ) -> None:
        ada = await sign_up()
        token = await issued(service, ada)
        answers = [
            await service.get(path, headers=ada) for path in ("/jwks", f"/get-session?token={token}", "/nope")
        ]
        await service.get(f"/{token}", headers=ada)
        rows = await service.rows("SELECT * FROM signing_key")

        private = [key.as_dict(private=True) for _, key in (await private_keys(service)).values()]
        secrets = [
            str(jwk[name]) for jwk in private for name in ("d", "p", "q", "dp", "dq", "qi") if name in jwk
        ]
        seen = "".join(answer.text for answer in answers) + log_stream.getvalue().decode() + str(rows)
        assert len(secrets) == 7
        assert [secret for secret in secrets if secret in seen] == []
        assert token_of(ada) not in seen.replace(answers[1].text, "")
        assert token not in log_stream.getvalue().decode()
        assert {name for key in answers[0].json()["keys"] for name in key}.isdisjoint(
            {"d", "p", "q", "k", "oth"}
        )


class TestKeyDocument:
    @pytest.mark.threat("JWT14")
    async def test_odd_requests_get_the_same_document(self, service: Service) -> None:
        plain = await service.get("/jwks")
        tags = ", ".join(f'"{number}"' for number in range(500))
        unusual_headers: list[dict[str, str]] = [
            {"If-None-Match": tags}, {"If-None-Match": "," * 5000}, {"Range": "bytes=0-1"}, {"Range": "bytes=9-1,-"},
            {"If-None-Match": '"'}, {"If-Modified-Since": "never"}, {"Accept": "text/html"}, {"Accept-Encoding": "br"},
            {"Authorization": "Bearer x y"}, {"Origin": "null"}, {"If-Match": '"other"'},
        ]  # fmt: skip
        queries = ("?", "?kid=../../x", "?a=%00", "?" + "x" * 7000, "?format[]=1&format[]=2")

        answers = [
            *[await service.get("/jwks", headers=headers) for headers in unusual_headers],
            *[await service.get(f"/jwks{query}") for query in queries],
        ]

        assert {(answer.status_code, answer.content) for answer in answers} == {(200, plain.content)}

    @pytest.mark.threat("JWT14")
    async def test_it_is_not_limited(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "20"})

        for path in ("/jwks", "/.well-known/jwks.json"):
            assert {(await service.get(path)).status_code for _ in range(25)} == {200}
