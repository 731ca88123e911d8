"""Row JWT19: tokens of this service that it reads itself, such as ID tokens, against those that others have made."""

import json
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import Key, RSAKey

from domain.errors import Unavailable
from domain.jwt import rotation
from domain.jwt.signing_keys import SigningKeys
from server.components.jwt import EVERY, SigningKeyStore
from server.crypto import jwt as signer
from server.crypto.keyring import Keyring
from tests.conftest import MakeService
from tests.handlers.steps import execute
from tests.processor import processor_seconds
from tests.security.test_jwt_threats import encoded, forged
from tests.service import BASE_URL, START, Service, close_service, open_service

SECRET = "s" * 32
SETTINGS = {"secrets": SECRET, "jwt.algorithms": "ES256,RS256,EdDSA"}
WHOLE = int(START.timestamp())
CLAIMS = {"iss": BASE_URL, "aud": "app_shop", "sub": "x" * 32, "iat": WHOLE, "exp": WHOLE + 300}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with a key of each algorithm."""
    service = await make_service(SETTINGS)
    await service.services.port[SigningKeyStore].prepare()
    return service


@pytest.fixture
def keys(service: Service) -> SigningKeys:
    return service.services.port[SigningKeys]


async def private_key(service: Service, algorithm: str = "ES256") -> tuple[str, Key]:
    """Return id and private key of what signs, which a thief of database and secret has."""
    rows = await service.rows("SELECT kid, algorithm, private_jwk FROM signing_key")
    [found] = [row for row in rows if row.algorithm == algorithm]
    return found.kid, signer.import_jwk(Keyring([SECRET]).decrypt(rotation.PURPOSE, found.private_jwk) or "")


async def rotate(service: Service) -> None:
    """Create a key that signs at once."""
    store = service.services.port[SigningKeyStore]
    rule = partial(rotation.rotate, holder=store.holder, at_once=True)
    assert await store.change(["ES256"], lambda pairs: partial(rule, pairs=pairs.values()))


@pytest.fixture
def url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """An empty database, for two instances."""
    if dialect == "postgresql":
        return str(request.getfixturevalue("cluster").create(migrated=True))
    (tmp_path / "gatewright.db").write_bytes(migrated_file.read_bytes())
    return f"sqlite:///{tmp_path / 'gatewright.db'}"


@pytest.mark.threat("JWT19")
class TestOwnTokens:
    @pytest.mark.parametrize("algorithm", ["ES256", "RS256", "EdDSA", None])
    async def test_its_own_tokens_are_read(self, keys: SigningKeys, algorithm: str | None) -> None:
        token = await keys.sign(CLAIMS, START, algorithm=algorithm, typ="at+jwt")

        header = jws.extract_compact(token.encode()).headers()

        assert (header["alg"], header["typ"]) == (algorithm or "ES256", "at+jwt")
        assert await keys.verify(token, START, typ="at+jwt") == CLAIMS

    async def test_without_a_key_of_the_algorithm_nothing_is_signed(self, make_service: MakeService) -> None:
        service = await make_service({"jwt.algorithms": "ES256"})

        with pytest.raises(Unavailable):
            await service.services.port[SigningKeys].sign(CLAIMS, START, algorithm="RS256")

    async def test_a_token_of_another_type_is_another_token(self, keys: SigningKeys) -> None:
        for typ in ("at+jwt", "logout+jwt", "application/jwt", "jwt", ""):
            token = await keys.sign(CLAIMS, START, typ=typ)

            assert await keys.verify(token, START) is None, typ
            assert await keys.verify(token, START, typ=typ) == CLAIMS

    @pytest.mark.parametrize(
        ("changes", "current", "at_any_time"),
        [
            ({}, True, True),
            ({"exp": WHOLE + 1}, True, True),
            ({"exp": WHOLE}, False, True),
            ({"exp": WHOLE - 1}, False, True),
            ({"exp": None}, False, True),
            ({"exp": "9999999999"}, False, True),
            ({"iat": WHOLE + 60}, True, True),
            ({"iat": WHOLE + 61}, False, True),
            ({"iat": None}, False, True),
        ],
    )
    async def test_a_token_counts_in_its_time_unless_time_does_not_matter(
        self, keys: SigningKeys, changes: dict[str, Any], current: bool, at_any_time: bool
    ) -> None:
        claims = {name: value for name, value in (CLAIMS | changes).items() if value is not None}
        token = await keys.sign(claims, START)

        assert (await keys.verify(token, START) == claims) == current
        assert (await keys.verify(token, START, ignore_expiry=True) == claims) == at_any_time

    async def test_what_others_have_signed_is_refused(self, service: Service, keys: SigningKeys) -> None:
        (es, key), (rs, rsa) = await private_key(service), await private_key(service, "RS256")
        own = signer.generate("ES256")
        thief = signer.import_jwk(own.private_jwk)
        published = {one["kid"]: one for one in (await service.get("/jwks")).json()["keys"]}
        public = json.dumps(published[es]).encode()
        pem = RSAKey.import_key(dict(published[rs])).as_pem(private=False)
        good = await keys.sign(CLAIMS, START)
        head, body, signature = good.split(".")

        def by(signs: Key, algorithm: str = "ES256", **header: Any) -> str:
            whole = {"alg": algorithm, "kid": es, "typ": "JWT", **header}
            registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
            return jws.serialize_compact(whole, json.dumps(CLAIMS), signs, registry=registry)

        jwk = json.loads(own.public_jwk)
        tokens = {
            "unsigned": forged({"alg": "none", "kid": es}, CLAIMS),
            "unsigned, in capitals": forged({"alg": "NONE", "kid": es}, CLAIMS),
            "unsigned, with our header": f"{head}.{body}.",
            "the public key as secret": forged({"alg": "HS256", "kid": es}, CLAIMS, public),
            "the public RSA key as secret": forged({"alg": "HS256", "kid": rs}, CLAIMS, pem),
            "another key under our id": by(thief),
            "another key under its own id": by(thief, kid=own.kid),
            "the id of a key of another type": by(key, kid=rs),
            "another algorithm of the same key": by(rsa, "PS256", kid=rs),
            "a header with its own key": by(thief, kid=own.kid, jwk=jwk),
            "our id and its own key": by(thief, jwk=jwk),
            "a URL of keys": by(thief, kid=own.kid, jku="https://evil.test/keys"),
            "our own key and one more member": by(key, cty="JWT"),
            "other claims": f"{head}.{encoded(CLAIMS | {'sub': 'y' * 32})}.{signature}",
            "a shorter signature": good[:-4],
            "a longer signature": good + "AAAA",
            "a signature of zeros": f"{head}.{body}." + "A" * 86,
            "four parts": good + ".",
            "two parts": f"{head}.{body}",
            "encrypted": f"{head}.{body}.{signature}.{signature}.{signature}",
        }

        assert await keys.verify(good, START) == CLAIMS
        assert [name for name, token in tokens.items() if await keys.verify(token, START) is not None] == []

    async def test_odd_texts_are_refused_and_cost_little(self, keys: SigningKeys) -> None:
        good = await keys.sign(CLAIMS, START)
        _, body, signature = good.split(".")
        headers: list[Any] = [
            None, 1, "x", [], {}, [[]], {"kid": None}, {"kid": []}, {"kid": {}}, {"kid": "k" * 43}, {"kid": "\0"},
            {"kid": "../../etc/passwd"}, {"kid": "k" * 5000}, {"alg": None, "kid": "x", "typ": []},
        ]  # fmt: skip
        tokens = [
            "", ".", "..", "...", "a.b.c", "\0", "\u00e9.\u00e9.\u00e9", "\ud800", "=.=.=", "A", "A.A.A", "e30.e30.e30",
            *(f"{encoded(header)}.{body}.{signature}" for header in headers),
            encoded("x") + "." * 8000, "." + good, good + "\n", good.replace(".", " "), "A" * 8192,
            encoded(json.loads("[" * 900 + "]" * 900)) + f".{body}.{signature}", "x" * 100_000,
            f"{good}{'A' * 8192}",
        ]  # fmt: skip

        with processor_seconds() as spent:
            accepted = [token for token in tokens if await keys.verify(token, START) is not None]
            seconds = spent()

        assert accepted == []
        assert seconds / len(tokens) < 0.001

    async def test_a_token_that_is_too_long_is_not_read(self, keys: SigningKeys) -> None:
        tokens = [await keys.sign(CLAIMS | {"name": "n" * length}, START) for length in (5600, 6200)]

        read = [await keys.verify(token, START) for token in tokens]

        assert [len(token) > 8192 for token in tokens] == [False, True]
        assert [claims is None for claims in read] == [False, True]

    async def test_claims_that_are_no_object_are_refused(self, service: Service, keys: SigningKeys) -> None:
        kid, key = await private_key(service)
        header = {"alg": "ES256", "kid": kid, "typ": "JWT"}
        payloads = [b"", b"[]", b"1", b"null", b'"x"', b"{", b"\xff", b"[" * 3000, b'{"exp": NaN}']

        tokens = [jws.serialize_compact(header, payload, key, algorithms=["ES256"]) for payload in payloads]

        for token in tokens:
            assert await keys.verify(token, START, ignore_expiry=True) is None

    async def test_a_retired_key_counts_while_it_is_published_and_a_revoked_one_does_not(
        self, service: Service, keys: SigningKeys
    ) -> None:
        store = service.services.port[SigningKeyStore]
        old = await keys.sign(CLAIMS, START)
        service.clock.advance(minutes=1)
        await rotate(service)
        new = await keys.sign(CLAIMS, service.clock.now)
        still = await keys.verify(old, START)

        service.clock.advance(days=31)
        gone = await keys.verify(old, service.clock.now, ignore_expiry=True)
        kid = signer.kid_of(new) or ""
        rule = partial(rotation.revoke, kid=kid, holder=store.holder)
        assert await store.change(["ES256"], lambda pairs: partial(rule, pairs=pairs))

        assert still == CLAIMS
        assert gone is None
        assert await keys.verify(new, START, ignore_expiry=True) is None

    @pytest.mark.both_databases
    async def test_another_instance_reads_tokens_of_a_new_key_at_once(self, url: str, tmp_path: Path) -> None:
        one, other = [
            await open_service(url, tmp_path, SETTINGS | {"jwt.algorithms": "ES256"}) for _ in range(2)
        ]
        try:
            one.clock.advance(seconds=1)
            await rotate(one)
            token = await one.services.port[SigningKeys].sign(CLAIMS, START)

            at_once = await other.services.port[SigningKeys].verify(token, START)
            later = await other.services.port[SigningKeys].verify(token, START + timedelta(seconds=1))
        finally:
            for service in (one, other):
                await close_service(service)

        # A key is looked up at most once a second, because anyone can name one that does not exist.
        assert (at_once, later) == (None, CLAIMS)
        assert EVERY > 1

    async def test_unknown_keys_cause_a_read_once_a_second(self, service: Service, keys: SigningKeys) -> None:
        good, own = await keys.sign(CLAIMS, START), signer.generate("ES256")
        forgery = signer.sign(signer.import_jwk(own.private_jwk), "ES256", own.kid, CLAIMS)
        await execute(service, "DELETE FROM signing_key")

        assert await keys.verify(forgery, START) is None
        assert await keys.verify(good, START) == CLAIMS
        assert await keys.verify(forgery, START + timedelta(seconds=1)) is None
        assert await keys.verify(good, START) is None
