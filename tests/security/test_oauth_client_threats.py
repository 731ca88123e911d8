"""Attacks on the authentication of OAuth clients, and on their secrets."""

import hmac
import json
import warnings
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from joserfc import jws, jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from domain.oauth_clients.assertions import TYPE
from tests.conftest import MakeService
from tests.handlers.people import add_person
from tests.handlers.steps import execute
from tests.handlers.test_oauth_clients import initial_token, register
from tests.oauth import OAuthTestClient, add_client, add_public_client, basic
from tests.security.crowd import CROWDS, all_of, turns
from tests.service import BASE_URL, START, Service
from tests.trail import of_event

NOW = int(START.timestamp())
ISSUER = BASE_URL
KEY = ECKey.generate_key("P-256")
OTHER_KEY = ECKey.generate_key("P-256")
JWKS = {"keys": [KEY.as_dict(private=False)]}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({"limits.enabled": "false"})


@pytest.fixture
async def signer(service: Service) -> OAuthTestClient:
    """A client that authenticates by its key."""
    return await add_client(service, token_endpoint_auth_method="private_key_jwt", jwks=JWKS)


async def revoke(service: Service, headers: Any = None, **parameters: str) -> httpx.Response:
    """Use an operation that needs the authentication of a client."""
    return await service.client.post(
        "/oauth2/revoke", data={"token": "gwr_unknown", **parameters}, headers=headers
    )


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Return status and error; a client that is not accepted gets the same response whatever the reason."""
    if answer.status_code == 401:
        assert answer.json() == {
            "error": "invalid_client",
            "error_description": "The client is unknown, or its authentication failed",
        }
        assert answer.headers["www-authenticate"] == 'Basic realm="gatewright"'
    return answer.status_code, answer.json().get("error", "")


REFUSED = (401, "invalid_client")


def assertion(client_id: str, key: Key = KEY, algorithm: str = "ES256", **claims: Any) -> str:
    """Return an assertion; claims that are None are left out."""
    everything = {
        "iss": client_id,
        "sub": client_id,
        "aud": ISSUER,
        "exp": NOW + 60,
        "jti": "one",
        **claims,
    }
    payload = {name: value for name, value in everything.items() if value is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return jwt.encode({"alg": algorithm}, payload, key, algorithms=[algorithm])


async def assert_by(service: Service, sent: str, **parameters: str) -> httpx.Response:
    return await revoke(service, client_assertion_type=TYPE, client_assertion=sent, **parameters)


class TestSecrets:
    async def test_a_secret_is_accepted_in_both_places(self, service: Service) -> None:
        for method in ("client_secret_basic", "client_secret_post"):
            client = await add_client(service, token_endpoint_auth_method=method)

            assert (await revoke(service, client.basic)).status_code == 200
            assert (await revoke(service, **client.form)).status_code == 200
            assert (await revoke(service, client.basic, client_id=client.client_id)).status_code == 200

    @pytest.mark.threat("O11")
    async def test_two_ways_at_once_are_refused(self, service: Service) -> None:
        client = await add_client(service)
        signed = assertion(client.client_id)

        for answer in (
            await revoke(service, client.basic, client_secret=client.secret or ""),
            await revoke(service, client.basic, client_assertion=signed, client_assertion_type=TYPE),
            await revoke(service, **client.form, client_assertion=signed, client_assertion_type=TYPE),
        ):
            assert refusal(answer) == (400, "invalid_request")

    @pytest.mark.threat("O11")
    async def test_another_id_than_that_of_the_credentials_is_refused(self, service: Service) -> None:
        client, other = await add_client(service), await add_client(service)

        answer = await revoke(service, client.basic, client_id=other.client_id)

        assert refusal(answer) == (400, "invalid_request")

    @pytest.mark.threat("O11")
    async def test_wrong_secrets_have_one_response(self, service: Service) -> None:
        client, other, public = (
            await add_client(service),
            await add_client(service),
            await add_public_client(service),
        )
        secret = client.secret or ""
        answers = [
            await revoke(service, basic(client.client_id, wrong))
            for wrong in ("", "gws_", secret[:-1], secret + "x", secret.swapcase(), other.secret or "")
        ]
        answers += [
            await revoke(service),
            await revoke(service, basic("app_unknown", secret)),
            await revoke(service, client_id=client.client_id),
            await revoke(service, client_id=client.client_id, client_secret=""),
            await revoke(service, client_id="app_unknown"),
            await revoke(service, client_id=public.client_id, client_secret="x"),
            await revoke(service, basic(public.client_id, "")),
            await revoke(service, basic(public.client_id, secret)),
            await service.client.post(
                f"/oauth2/revoke?client_secret={secret}", data=client.form | {"client_secret": ""}
            ),
        ]

        assert {refusal(answer) for answer in answers} == {REFUSED}
        reasons = {record.details["reason"] for record in await of_event(service, "oauth.client_auth_failed")}
        assert reasons == {"unknown", "method", "secret"}

    @pytest.mark.threat("O11", "R32")
    async def test_malformed_authorization_headers(self, service: Service) -> None:
        client = await add_client(service)
        pair = f"{client.client_id}:{client.secret}".encode()
        malformed = [
            "",
            "Basic",
            "Basic ",
            "Basic !!!",
            "Basic " + b64encode(client.client_id.encode()).decode(),
            "Basic " + b64encode(b":" + pair).decode(),
            "Basic " + b64encode(b"\xff\xfe:x").decode(),
            "Basic " + b64encode(b"app%00:x").decode(),
            "Basic " + b64encode(b"app\0:x").decode(),
            "Bearer " + (client.secret or ""),
            "Digest " + b64encode(pair).decode(),
        ]

        for header in malformed:
            assert refusal(await revoke(service, {"authorization": header})) == REFUSED, header
        twice = [("authorization", client.basic["authorization"])] * 2
        answer = await service.client.post("/oauth2/revoke", data={"token": "x"}, headers=twice)
        assert refusal(answer) == REFUSED

    @pytest.mark.threat("O11")
    async def test_a_disabled_client_is_refused_as_an_unknown_one(self, service: Service) -> None:
        client = await add_client(service)
        await execute(service, "UPDATE oauth_client SET disabled_at = created_at")

        assert refusal(await revoke(service, client.basic)) == REFUSED

    @pytest.mark.threat("O14")
    async def test_secrets_are_stored_as_digests_and_never_shown_again(
        self, service: Service, capsys: pytest.CaptureFixture[str]
    ) -> None:
        admin = await add_person(service, "admin", "root@example.com")
        client = await add_client(service)
        secret = client.secret or ""
        rotated = await service.post(
            "/oauth2/client/rotate-secret", {"client_id": client.client_id}, headers=admin.headers
        )
        new = rotated.json()["client_secret"]
        await revoke(service, basic(client.client_id, new[:-1]))

        shown = [
            (await service.get(path, params={"client_id": client.client_id}, headers=admin.headers)).text
            for path in ("/oauth2/get-client", "/oauth2/get-clients")
        ]
        stored = [str(row) for row in await service.rows("SELECT * FROM oauth_client")]
        stored += [str(row) for row in await service.rows("SELECT * FROM audit")]
        for text in (*shown, *stored, capsys.readouterr().out):
            assert secret not in text
            assert new not in text

    @pytest.mark.threat("O14")
    async def test_no_operation_takes_an_oauth_token_or_a_secret_for_a_session(
        self, service: Service
    ) -> None:
        client = await add_client(service)

        for token in (client.secret or "", "gwa_" + "x" * 32, "gwr_" + "x" * 32, "gwi_" + "x" * 32):
            answer = await service.get("/list-sessions", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 401


class TestAssertions:
    @pytest.mark.parametrize(
        ("key", "algorithm"),
        [
            (RSAKey.generate_key(2048), "RS256"),
            (RSAKey.generate_key(2048), "PS256"),
            (ECKey.generate_key("P-256"), "ES256"),
            (OKPKey.generate_key("Ed25519"), "EdDSA"),
        ],
        ids=["RS256", "PS256", "ES256", "EdDSA"],
    )
    async def test_a_client_authenticates_by_each_algorithm(
        self, service: Service, key: Key, algorithm: str
    ) -> None:
        client = await add_client(
            service,
            token_endpoint_auth_method="private_key_jwt",
            jwks={"keys": [OTHER_KEY.as_dict(private=False), key.as_dict(private=False)]},
        )

        for number, audience in enumerate((ISSUER, f"{ISSUER}/oauth2/token", [ISSUER, "other"])):
            sent = assertion(client.client_id, key, algorithm, aud=audience, jti=f"{number}")
            assert (await assert_by(service, sent)).status_code == 200
        sent = assertion(client.client_id, key, algorithm, jti="last", iat=NOW, nbf=NOW)
        assert (await assert_by(service, sent, client_id=client.client_id)).status_code == 200

    @pytest.mark.parametrize(
        "claims",
        [
            {"aud": None},
            {"aud": "https://evil.example"},
            {"aud": ISSUER + "/"},
            {"aud": ISSUER + "/oauth2/revoke"},
            {"aud": BASE_URL + "/api/auth"},
            {"aud": []},
            {"aud": {"a": ISSUER}},
            {"iss": None},
            {"iss": "https://evil.example"},
            {"exp": None},
            {"exp": NOW},
            {"exp": NOW - 1},
            {"exp": NOW + 301},
            {"exp": NOW + 10**9},
            {"exp": 10**400},
            {"exp": "soon"},
            {"exp": True},
            {"nbf": NOW + 61},
            {"iat": NOW + 61},
            {"iat": "now"},
            {"jti": None},
            {"jti": ""},
            {"jti": 7},
            {"jti": "x" * 256},
        ],
    )
    @pytest.mark.threat("O12")
    async def test_claims_that_are_not_accepted(
        self, service: Service, signer: OAuthTestClient, claims: dict[str, Any]
    ) -> None:
        assert refusal(await assert_by(service, assertion(signer.client_id, **claims))) == REFUSED

    @pytest.mark.threat("O12")
    async def test_an_assertion_for_another_client_is_refused(
        self, service: Service, signer: OAuthTestClient
    ) -> None:
        other = await add_client(service, token_endpoint_auth_method="private_key_jwt", jwks=JWKS)
        sent = assertion(signer.client_id, sub=other.client_id)

        assert refusal(await assert_by(service, sent)) == REFUSED
        own = assertion(signer.client_id)
        assert refusal(await assert_by(service, own, client_id=other.client_id)) == (400, "invalid_request")

    @pytest.mark.threat("O12")
    async def test_forged_signatures(self, service: Service, signer: OAuthTestClient) -> None:
        def header(**members: Any) -> str:
            return urlsafe_b64encode(json.dumps(members).encode()).decode().rstrip("=")

        good = assertion(signer.client_id)
        _, payload, signature = good.split(".")
        signed = f"{header(alg='HS256')}.{payload}"
        mac = hmac.digest(KEY.as_pem(private=False), signed.encode(), "sha256")
        own = {"alg": "ES256", "jwk": OTHER_KEY.as_dict(private=False), "jku": "https://evil.example/keys"}
        claims = {
            "iss": signer.client_id,
            "sub": signer.client_id,
            "aud": ISSUER,
            "exp": NOW + 60,
            "jti": "x",
        }
        forged = [
            f"{header(alg='none')}.{payload}.",
            f"{header(alg='none')}.{payload}.{signature}",
            f"{header(alg='NONE')}.{payload}.",
            f"{header(alg='RS256')}.{payload}.{signature}",
            f"{header(alg=['ES256'])}.{payload}.{signature}",
            f"{header(alg='ES256', crit=['x'], x=1)}.{payload}.{signature}",
            f"{header(alg='ES256', b64=False, crit=['b64'])}.{payload}.{signature}",
            f"{header()}.{payload}.{signature}",
            f"{payload}.{payload}.{signature}",
            f".{payload}.{signature}",
            good[:-4],
            assertion(signer.client_id, OTHER_KEY),
            jws.serialize_compact(own, json.dumps(claims), OTHER_KEY, algorithms=["ES256"]),
            f"{signed}.{urlsafe_b64encode(mac).decode().rstrip('=')}",
        ]

        for sent in forged:
            assert refusal(await assert_by(service, sent)) == REFUSED, sent
        assert (await assert_by(service, good)).status_code == 200

    @pytest.mark.parametrize(
        "make",
        [
            lambda good: "x" * 100,
            lambda good: "..",
            lambda good: good.split(".")[0],
            lambda good: "a.W10.b",
            lambda good: "a." + urlsafe_b64encode(b'{"sub": "app\\u0000"}').decode() + ".b",
            lambda good: "a." + urlsafe_b64encode(b'{"sub": 7}').decode() + ".b",
        ],
    )
    @pytest.mark.threat("O12", "R32")
    async def test_what_is_no_assertion(
        self, service: Service, signer: OAuthTestClient, make: Callable[[str], str]
    ) -> None:
        sent = make(assertion(signer.client_id))

        assert refusal(await assert_by(service, sent)) == REFUSED
        assert refusal(await assert_by(service, sent, client_id=signer.client_id)) in (
            REFUSED,
            (400, "invalid_request"),
        )

    @pytest.mark.threat("O12")
    async def test_a_huge_assertion_is_not_read(self, service: Service, signer: OAuthTestClient) -> None:
        huge = assertion(signer.client_id, more="x" * 8192)

        assert refusal(await assert_by(service, huge)) == (400, "invalid_request")
        assert (await assert_by(service, huge * 100)).status_code == 413

    @pytest.mark.threat("O11", "O12")
    async def test_another_way_than_the_registered_one_is_refused(
        self, service: Service, signer: OAuthTestClient
    ) -> None:
        shop, public = await add_client(service), await add_public_client(service)
        answers = [
            await revoke(service, client_id=signer.client_id),
            await revoke(service, basic(signer.client_id, "")),
            await revoke(service, client_id=signer.client_id, client_secret="x"),
            await assert_by(service, assertion(shop.client_id)),
            await assert_by(service, assertion(public.client_id)),
        ]

        assert {refusal(answer) for answer in answers} == {REFUSED}
        wrong = await revoke(
            service, client_assertion_type="urn:other", client_assertion=assertion(signer.client_id)
        )
        assert refusal(wrong) == (400, "invalid_request")

    @pytest.mark.threat("O12")
    async def test_an_assertion_is_used_once_even_if_the_request_is_refused(
        self, service: Service, signer: OAuthTestClient
    ) -> None:
        first, second = assertion(signer.client_id, jti="1"), assertion(signer.client_id, jti="2")

        assert (await assert_by(service, first)).status_code == 200
        assert refusal(await assert_by(service, first)) == REFUSED
        again = assertion(signer.client_id, jti="1", exp=NOW + 100)
        assert refusal(await assert_by(service, again)) == REFUSED
        missing = {"client_assertion_type": TYPE, "client_assertion": second}
        refused = await service.client.post("/oauth2/token", data={**missing, "grant_type": "unknown"})
        assert refused.status_code == 400
        assert refusal(await assert_by(service, second)) == REFUSED

    @pytest.mark.threat("O12")
    async def test_two_clients_may_use_the_same_id(self, service: Service, signer: OAuthTestClient) -> None:
        other = await add_client(service, token_endpoint_auth_method="private_key_jwt", jwks=JWKS)

        assert (await assert_by(service, assertion(signer.client_id))).status_code == 200
        assert (await assert_by(service, assertion(other.client_id))).status_code == 200


@pytest.mark.both_databases
@pytest.mark.threat("O12")
@pytest.mark.parametrize("number", CROWDS)
async def test_of_many_with_one_assertion_one_is_accepted(
    unlimited_instances: list[Service], number: int
) -> None:
    client = await add_client(unlimited_instances[0], token_endpoint_auth_method="private_key_jwt", jwks=JWKS)
    sent = assertion(client.client_id)

    answers = await all_of([assert_by(each, sent) for each in turns(unlimited_instances, number)])

    assert sorted(answer.status_code for answer in answers) == [200] + [401] * (number - 1)


@pytest.mark.both_databases
@pytest.mark.threat("O13")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_token_registers_as_many_clients_as_it_may(
    unlimited_instances: list[Service], number: int
) -> None:
    token = await initial_token(unlimited_instances[0], uses=3)

    answers = await all_of([register(each, token) for each in turns(unlimited_instances, number)])

    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [401] * (number - 3)
    assert len(await unlimited_instances[0].rows("SELECT client_id FROM oauth_client")) == 3
