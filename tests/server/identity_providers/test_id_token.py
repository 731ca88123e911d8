"""ID tokens: every rule, each by a token that breaks it alone."""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import pytest
from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from domain import tokens as domain_tokens
from domain.identity_provider import IdentityRefused, IdTokenCredential, VerifiedIdentity
from domain.social.errors import ProviderUnavailable
from server.identity_providers.http_client import DEEPEST
from server.identity_providers.id_token import ExpectedClaims, verified_logout
from tests.labs.provider.process import ProviderProcess
from tests.server.identity_providers.conftest import MakeVisitor, Visitor
from tests.service import START

NOW = int(START.timestamp())
US = "gatewright"


async def bring(visitor: Visitor, token: str, **beside: Any) -> VerifiedIdentity:
    """Sign in with an ID token that an application sends."""
    return await visitor.client.verify(IdTokenCredential(token, **beside), visitor.clock())


async def is_refused(visitor: Visitor, token: str, **beside: Any) -> bool:
    try:
        await bring(visitor, token, **beside)
    except IdentityRefused:
        return True
    return False


async def accepted(visitor: Visitor, tokens: Mapping[Any, str]) -> list[Any]:
    """Return the names of the tokens that are not refused."""
    return [name for name, token in tokens.items() if not await is_refused(visitor, token)]


class TestAnIdTokenOfThisProvider:
    async def test_may_be_signed_with_each_algorithm(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        for algorithm in ("RS256", "PS256", "ES256", "EdDSA"):
            assert (await bring(visitor, provider.mint(algorithm=algorithm))).identity.subject == "1001"

    async def test_is_known_again_by_the_copied_keys(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        for _ in range(5):
            await bring(visitor, provider.mint())

        assert len(provider.log("jwks")) == len(provider.log("discovery")) == 1


class TestClaims:
    async def test_refuse(self, visitor: Visitor, provider: ProviderProcess) -> None:
        wrong: list[dict[str, Any]] = [
            {"iss": ""},
            {"iss": 7},
            {"aud": ""},
            {"aud": [US, 7]},
            {"exp": NOW - 60},
            {"exp": str(NOW + 3600)},
            {"exp": True},
            {"exp": [NOW + 3600]},
            {"iat": NOW - 3601},
            {"iat": NOW + 61},
        ]

        tokens = {json.dumps(claims): provider.mint(claims=claims) for claims in wrong}

        assert await accepted(visitor, tokens) == []

    async def test_accept(self, visitor: Visitor, provider: ProviderProcess) -> None:
        right: list[dict[str, Any]] = [
            {"aud": [US]},
            {"aud": [US, "other"], "azp": US},
            {"azp": "an app of theirs"},
            {"exp": NOW - 59},
            {"exp": NOW + 0.5},
            {"nbf": NOW + 60},
            {"iat": NOW - 3600},
            {"iat": NOW + 60},
            {"sub": 1001},
        ]

        for claims in right:
            token = provider.mint(claims=claims)
            assert (await bring(visitor, token)).identity.subject == "1001", claims

    async def test_accept_an_older_token_from_the_provider_itself(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        provider.control(id_token={"iat": NOW - 7200})

        assert (await visitor.sign_in()).identity.subject == "1001"


class TestAccessTokenHash:
    @pytest.mark.parametrize(
        ("algorithm", "named"),
        [
            ("RS256", "TFWoVSoscmH2H3mMImXm8Q"),
            ("EdDSA", "NRtHuPVzTzUl3X_eqLvP94ET_1AMLMMyh3M7ANHtFKY"),
        ],
    )
    async def test_must_name_the_token_beside_it(
        self, visitor: Visitor, provider: ProviderProcess, algorithm: str, named: str
    ) -> None:
        token = provider.mint(claims={"at_hash": named}, algorithm=algorithm)

        assert await is_refused(visitor, token, access_token="another")
        assert not await is_refused(visitor, token, access_token="theirs")
        assert not await is_refused(visitor, token)

    async def test_must_be_text(self, visitor: Visitor, provider: ProviderProcess) -> None:
        assert await is_refused(visitor, provider.mint(claims={"at_hash": 7}), access_token="theirs")


class TestHeader:
    async def test_refuses(self, visitor: Visitor, provider: ProviderProcess) -> None:
        wrong: list[dict[str, Any]] = [
            {"alg": ""},
            {"alg": "rs256"},
            {"crit": ["iss"], "iss": "x"},
            {"crit": ["b64"], "b64": True},
            {"b64": False},
            {"kid": "unknown"},
            {"kid": ""},
            {"typ": ""},
            {"typ": "application/at+JWT"},
            {"typ": "logout+jwt"},
            {"typ": "dpop+jwt"},
            {"typ": "secevent+jwt"},
            {"typ": "text/jwt"},
            {"typ": 7},
        ]

        tokens = {json.dumps(header): provider.mint(header=header) for header in wrong}

        assert await accepted(visitor, tokens) == []

    @pytest.mark.parametrize("allowed", ["ES256", "PS256,EdDSA"])
    async def test_names_an_allowed_algorithm(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, allowed: str
    ) -> None:
        visitor = make_visitor(allowed_algorithms=allowed)

        assert await is_refused(visitor, provider.mint(algorithm="RS256"))
        assert not await is_refused(visitor, provider.mint(algorithm=allowed.partition(",")[0]))

    @pytest.mark.threat("V19")
    async def test_may_say_that_it_is_an_id_token(self, visitor: Visitor, provider: ProviderProcess) -> None:
        for kind in (None, "JWT", "jwt", "application/JWT", "id_token+jwt"):
            token = provider.mint(header={"typ": kind})
            assert (await bring(visitor, token)).identity.subject == "1001", kind


class TestForm:
    @pytest.mark.threat("V19")
    async def test_refuses_what_is_none(self, visitor: Visitor) -> None:
        tokens = [
            "",
            ".",
            "..",
            "a.b.c",
            "é.é.é",
            "...",
            "e30.e30.e30",
            "WyJhbGciXQ.e30.e30",
            "ImFsZyI.e30.e30",
            "NQ.e30.e30",
            "bnVsbA.e30.e30",
            "eyJhbGciOjd9.e30.e30",
            "eyJhbGciOiJSUzI1NiIsImtpZCI6N30.e30.e30",
            "\ud800.e30.e30",
            "x" * 16_384,
            _encoded('{"alg": ' + "[" * 3000) + ".e30.e30",
        ]

        assert await accepted(visitor, {token: token for token in tokens}) == []

    async def test_refuses_claims_that_are_deep(self, visitor: Visitor, provider: ProviderProcess) -> None:
        deep, deeper = (provider.mint(claims={"x": _nested(levels)}) for levels in (DEEPEST - 1, DEEPEST))

        assert not await is_refused(visitor, deep)
        assert await is_refused(visitor, deeper)

    async def test_refuses_a_long_one_before_it_reads_it(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        fitting = provider.mint(claims={"padding": "x" * 11_000})
        too_long = provider.mint(claims={"padding": "x" * 12_000})

        assert len(fitting) < 16 * 1024 < len(too_long)
        assert not await is_refused(visitor, fitting)
        assert await is_refused(visitor, too_long)
        assert await is_refused(visitor, f"{_encoded('x' * 1_000_000)}.e30.e30")

    async def test_refuses_claims_that_are_none_or_that_no_answer_could_hold(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        key, header = ECKey.generate_key("P-256"), {"alg": "ES256", "kid": "ours"}
        _publish(provider, key.as_dict(private=False, kid="ours", use="sig"))
        claims = jws.extract_compact(provider.mint().encode()).payload.removesuffix(b"}")
        more = (b"NaN", b'"\\ud800"', b"[" * 2000 + b"]" * 2000)
        payloads = [b"[]", b"7", b"", b"{", b"\xff", b'"text"']
        payloads += [claims + b', "more": ' + member + b"}" for member in more]

        tokens = {payload: jws.serialize_compact(header, payload, key) for payload in payloads}

        assert await accepted(visitor, tokens) == []
        assert await accepted(visitor, {"right": jws.serialize_compact(header, claims + b"}", key)})


class TestKeys:
    async def test_rotated_without_names_are_found_by_one_fetch(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        old = provider.mint(header={"kid": None})
        await bring(visitor, old)
        provider.rotate_keys()

        assert (await bring(visitor, provider.mint(header={"kid": None}))).identity.subject == "1001"

        assert await is_refused(visitor, old)
        assert len(provider.log("jwks")) == 2

    async def test_rotated_under_the_same_name_are_found_by_one_fetch(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        old, new = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
        _publish(provider, old.as_dict(private=False, kid="ours"))
        await bring(visitor, _resigned(provider, old, kid="ours"))
        _publish(provider, new.as_dict(private=False, kid="ours"))

        assert not await is_refused(visitor, _resigned(provider, new, kid="ours"))

        assert await is_refused(visitor, _resigned(provider, old, kid="ours"))
        assert len(provider.log("jwks")) == 2

    async def test_that_are_known_refuse_a_forgery_while_the_provider_is_down(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        await bring(visitor, provider.mint())
        provider.control(misbehave={"jwks": {"status": 500}})

        assert await is_refused(visitor, provider.mint(sign_with="stranger"))

    async def test_that_are_new_are_not_known_while_it_is_down(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        await bring(visitor, provider.mint())
        provider.rotate_keys()
        provider.control(misbehave={"jwks": {"status": 500}})

        with pytest.raises(ProviderUnavailable):
            await bring(visitor, provider.mint())

    @pytest.mark.parametrize(
        "keys",
        [
            [],
            {},
            "keys",
            [7, None, {}, {"kty": ["RSA"]}, {"kty": "RSA"}, {"kty": "RSA", "n": 7, "e": "AQAB"}],
            [{"kty": "oct", "k": "c2VjcmV0"}],
            [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}],
        ],
        ids=json.dumps,
    )
    async def test_that_are_none_are_garbage(
        self, visitor: Visitor, provider: ProviderProcess, keys: Any
    ) -> None:
        token = provider.mint()
        provider.control(misbehave={"jwks": {"json": {"keys": keys}}})

        with pytest.raises(ProviderUnavailable):
            await bring(visitor, token)

    async def test_that_are_not_understood_are_skipped(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        key = ECKey.generate_key("P-256")
        _publish(
            provider,
            {"kty": "AKP", "alg": "ML-DSA-44"},
            {"kty": "RSA", "n": "x"},
            key.as_dict(private=False, kid="ours"),
        )

        assert not await is_refused(visitor, _resigned(provider, key, kid="ours"))

    async def test_for_encryption_verify_nothing(self, visitor: Visitor, provider: ProviderProcess) -> None:
        key, other = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
        _publish(
            provider, key.as_dict(private=False, kid="ours", use="enc"), other.as_dict(private=False, kid="x")
        )

        assert await is_refused(visitor, _resigned(provider, key, kid="ours"))

    async def test_serve_the_algorithm_they_name(self, visitor: Visitor, provider: ProviderProcess) -> None:
        key = OKPKey.generate_key("Ed25519")
        _publish(
            provider,
            key.as_dict(private=False, kid="new", alg="Ed25519"),
            key.as_dict(private=False, kid="old", alg="EdDSA"),
        )

        assert not await is_refused(visitor, _resigned(provider, key, alg="Ed25519", kid="new"))
        assert await is_refused(visitor, _resigned(provider, key, alg="Ed25519", kid="old"))

    async def test_need_no_name_when_there_is_one_that_fits(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        key, other = ECKey.generate_key("P-256"), OKPKey.generate_key("Ed25519")
        _publish(provider, key.as_dict(private=False), other.as_dict(private=False))

        assert not await is_refused(visitor, _resigned(provider, key))

    async def test_need_a_name_when_there_are_several(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        key, other = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
        _publish(provider, key.as_dict(private=False), other.as_dict(private=False))

        assert await is_refused(visitor, _resigned(provider, key))

    async def test_of_rsa_are_long_enough(self, visitor: Visitor, provider: ProviderProcess) -> None:
        with pytest.warns(SecurityWarning):
            weak = RSAKey.generate_key(1024)
        strong = RSAKey.generate_key(2048)
        _publish(
            provider, weak.as_dict(private=False, kid="weak"), strong.as_dict(private=False, kid="strong")
        )

        assert await is_refused(visitor, _resigned(provider, weak, alg="RS256", kid="weak"))
        assert not await is_refused(visitor, _resigned(provider, strong, alg="RS256", kid="strong"))

    @pytest.mark.threat("R16")
    @pytest.mark.parametrize(
        "wanted",
        [{}, {"header": {}, "sign_with": "stranger"}, {"header": {"kid": None}, "sign_with": "stranger"}],
        ids=["unknown names", "forgeries", "forgeries without a name"],
    )
    async def test_are_not_fetched_for_a_flood(
        self, visitor: Visitor, provider: ProviderProcess, wanted: dict[str, Any]
    ) -> None:
        await bring(visitor, provider.mint())
        flood = [provider.mint(**{"header": {"kid": domain_tokens.token()}, **wanted}) for _ in range(10)]

        refused = await asyncio.gather(*(is_refused(visitor, token) for token in flood))
        refused += [await is_refused(visitor, token) for token in flood]

        assert all(refused)
        assert len(provider.log("jwks")) == 2

    @pytest.mark.threat("R16")
    async def test_are_asked_for_again_after_a_minute(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        await bring(visitor, provider.mint())
        await is_refused(visitor, provider.mint(header={"kid": "unknown"}))
        provider.rotate_keys()
        new = provider.mint()
        assert await is_refused(visitor, new)

        visitor.clock.advance(seconds=60)

        assert not await is_refused(visitor, new)


async def test_a_logout_token_without_an_issuer_is_refused_where_keys_name_theirs() -> None:
    """Microsoft names the issuer of each key."""
    written = {**ECKey.generate_key("P-256").as_dict(private=True), "issuer": "https://id.test"}
    key, expected = (
        ECKey.import_key(written),
        ExpectedClaims(US, ("ES256",), lambda _: ("https://id.test",), START),
    )
    events: dict[str, Any] = {"http://schemas.openid.net/event/backchannel-logout": {}}
    claims = {"aud": US, "iat": NOW, "jti": "1", "sub": "1001", "events": events}

    async def key_of(kid: str | None, algorithm: str) -> ECKey:
        return key

    async def read(**issuer: str) -> Mapping[str, Any]:
        payload = json.dumps({**claims, **issuer})
        token = jws.serialize_compact({"alg": "ES256"}, payload, key, algorithms=["ES256"])
        return await verified_logout(token, expected, key_of)

    assert (await read(iss="https://id.test"))["jti"] == "1"
    with pytest.raises(IdentityRefused):
        await read()


def _publish(provider: ProviderProcess, *keys: Any) -> None:
    """Publish these keys at the provider instead of its own."""
    provider.control(misbehave={"jwks": {"json": {"keys": list(keys)}}})


def _resigned(provider: ProviderProcess, key: Any, alg: str = "ES256", **header: str) -> str:
    """Return what the provider would say, signed with another key."""
    claims = jws.extract_compact(provider.mint().encode()).payload
    return jws.serialize_compact({"alg": alg, **header}, claims, key, algorithms=[alg])


def _nested(levels: int) -> list[Any]:
    """Return lists within each other."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def _encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
