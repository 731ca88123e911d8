"""Rows O2, O3, O9, O10, O14, O24 and O26 at the token endpoint: codes, refresh tokens, scopes, claims."""

import base64
import json
from typing import Any

import pytest

from server.components.jwt import SigningKeyStore
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.steps import execute
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_codes import (
    API,
    EVERYTHING,
    FILES,
    SETTINGS,
    VERIFIER,
    add_code,
    ask,
    error,
    first_tokens,
    redeem,
    refresh,
)
from tests.service import Service
from tests.trail import of_event, only

OTHER_VERIFIER = "w" * 43
LIVE_GRANTS = "SELECT id FROM oauth_grant WHERE revoked_at IS NULL"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A provider with two resources."""
    service = await make_service(SETTINGS)
    await service.services.port[SigningKeyStore].prepare()
    return service


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A client that may do everything."""
    return await add_client(service, **EVERYTHING)


@pytest.fixture
async def thief(service: Service) -> OAuthTestClient:
    """Another client that may do everything."""
    return await add_client(service, **EVERYTHING)


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    """The session of a user."""
    return await sign_up()


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token unchecked."""
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


@pytest.mark.threat("O2")
class TestCodes:
    async def test_strangers_do_not_use_a_code_up(
        self, service: Service, ada: Headers, shop: OAuthTestClient, thief: OAuthTestClient
    ) -> None:
        code = await add_code(service, shop, ada)

        refused = [
            await redeem(service, thief, code),
            await redeem(service, thief, code, verifier=OTHER_VERIFIER),
            await redeem(service, shop, code, verifier=OTHER_VERIFIER),
            await redeem(service, shop, code, redirect_uri="https://evil.example/callback"),
            await redeem(service, shop, code[:-1] + ("a" if code[-1] != "a" else "b")),
            await redeem(service, shop, code.removeprefix("gwc_")),
            await redeem(service, shop, "gwr_" + code.removeprefix("gwc_")),
        ]
        unread = await redeem(service, shop, code, verifier=None)

        assert {(error(answer), answer.text) for answer in refused} == {
            ("400 invalid_grant", refused[0].text)
        }
        assert error(unread) == "400 invalid_request"
        assert error(await redeem(service, shop, code)) == "200"

    async def test_a_doubled_submit_changes_nothing(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        code = await add_code(service, shop, ada, scopes="openid offline_access")
        tokens = (await redeem(service, shop, code)).json()
        service.clock.advance(seconds=10)

        assert error(await redeem(service, shop, code)) == "400 invalid_grant"
        assert error(await refresh(service, shop, tokens["refresh_token"])) == "200"
        assert await of_event(service, "oauth.code_replayed") == []

    @pytest.mark.parametrize(("seconds", "verifier"), [(10.001, VERIFIER), (1, OTHER_VERIFIER)])
    async def test_a_replay_revokes_the_grant(
        self, service: Service, ada: Headers, shop: OAuthTestClient, seconds: float, verifier: str
    ) -> None:
        code = await add_code(service, shop, ada, scopes="openid offline_access")
        tokens = (await redeem(service, shop, code)).json()
        service.clock.advance(seconds=seconds)

        replays = [await redeem(service, shop, code, verifier=verifier) for _ in range(3)]

        assert [error(answer) for answer in replays] == ["400 invalid_grant"] * 3
        assert error(await refresh(service, shop, tokens["refresh_token"])) == "400 invalid_grant"
        record = await only(service, "oauth.code_replayed")
        assert record.details["clientId"] == shop.client_id

    async def test_another_client_cannot_revoke_the_grant(
        self, service: Service, ada: Headers, shop: OAuthTestClient, thief: OAuthTestClient
    ) -> None:
        code = await add_code(service, shop, ada, scopes="openid offline_access")
        tokens = (await redeem(service, shop, code)).json()
        service.clock.advance(minutes=5)

        assert error(await redeem(service, thief, code)) == "400 invalid_grant"
        assert error(await refresh(service, shop, tokens["refresh_token"])) == "200"

    async def test_a_code_lives_for_a_minute(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        early, late = await add_code(service, shop, ada), await add_code(service, shop, ada)
        service.clock.advance(seconds=59.999)
        in_time = await redeem(service, shop, early)
        service.clock.advance(seconds=0.001)

        assert (error(in_time), error(await redeem(service, shop, late))) == ("200", "400 invalid_grant")


@pytest.mark.threat("O3")
class TestVerifiers:
    @pytest.mark.parametrize(
        "verifier", ["v" * 42, "v" * 129, "v" * 42 + "!", "v" * 42 + "\u00e9", "v" * 43 + "\n", "plain"]
    )
    async def test_a_malformed_verifier_is_refused(
        self, service: Service, ada: Headers, shop: OAuthTestClient, verifier: str
    ) -> None:
        code = await add_code(service, shop, ada)

        answer = await redeem(service, shop, code, verifier=verifier)

        assert error(answer) == "400 invalid_request"
        assert error(await redeem(service, shop, code)) == "200"

    async def test_the_challenge_is_no_verifier(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        code = await add_code(service, shop, ada)
        [row] = await service.rows("SELECT code_challenge FROM oauth_code")

        answer = await redeem(service, shop, code, verifier=row.code_challenge, code_challenge_method="plain")

        assert error(answer) == "400 invalid_grant"


@pytest.mark.threat("O9")
class TestRefreshTokens:
    async def test_a_reuse_after_the_grace_revokes_the_grant(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, ada)
        second = (await refresh(service, shop, tokens["refresh_token"])).json()
        service.clock.advance(seconds=10.001)

        reuses = [await refresh(service, shop, tokens["refresh_token"]) for _ in range(3)]

        assert [error(answer) for answer in reuses] == ["400 invalid_grant"] * 3
        assert error(await refresh(service, shop, second["refresh_token"])) == "400 invalid_grant"
        record = await only(service, "oauth.refresh_reused")
        assert record.details["clientId"] == shop.client_id

    async def test_a_reuse_after_the_successor_was_used_revokes_the_grant(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, ada)
        second = (await refresh(service, shop, tokens["refresh_token"])).json()
        third = (await refresh(service, shop, second["refresh_token"])).json()

        assert error(await refresh(service, shop, tokens["refresh_token"])) == "400 invalid_grant"
        assert error(await refresh(service, shop, third["refresh_token"])) == "400 invalid_grant"

    @pytest.mark.parametrize("change", [{"scope": "openid"}, {"resource": API}])
    async def test_another_request_within_the_grace_is_a_reuse(
        self, service: Service, ada: Headers, shop: OAuthTestClient, change: dict[str, str]
    ) -> None:
        tokens = await first_tokens(service, shop, ada, "openid read offline_access", resources=API)
        await refresh(service, shop, tokens["refresh_token"])

        assert error(await refresh(service, shop, tokens["refresh_token"], **change)) == "400 invalid_grant"
        assert await service.rows(LIVE_GRANTS) == []

    async def test_another_client_has_no_effect(
        self, service: Service, ada: Headers, shop: OAuthTestClient, thief: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, ada)
        before = await refresh(service, thief, tokens["refresh_token"])
        first = await refresh(service, shop, tokens["refresh_token"])
        within = await refresh(service, thief, tokens["refresh_token"])
        service.clock.advance(minutes=1)
        after = await refresh(service, thief, tokens["refresh_token"])

        assert {error(answer) for answer in (before, within, after)} == {"400 invalid_grant"}
        assert error(await refresh(service, shop, first.json()["refresh_token"])) == "200"

    async def test_the_owner_of_a_stolen_token_ends_what_the_thief_got(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, ada)
        stolen = (await refresh(service, shop, tokens["refresh_token"])).json()
        service.clock.advance(minutes=1)

        assert error(await refresh(service, shop, tokens["refresh_token"])) == "400 invalid_grant"
        assert error(await refresh(service, shop, stolen["refresh_token"])) == "400 invalid_grant"

    async def test_other_grants_stay(self, service: Service, ada: Headers, shop: OAuthTestClient) -> None:
        tokens, other = [await first_tokens(service, shop, ada) for _ in range(2)]
        await refresh(service, shop, tokens["refresh_token"])
        service.clock.advance(minutes=1)
        await refresh(service, shop, tokens["refresh_token"])

        assert error(await refresh(service, shop, other["refresh_token"])) == "200"

    async def test_no_refresh_token_is_accepted_in_the_place_of_another(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, ada)
        access = tokens["access_token"]

        for wrong in (
            access,
            "gwr_" + access.removeprefix("gwa_"),
            tokens["id_token"],
            "gwr_" + "\u00e9" * 32,
        ):
            assert error(await refresh(service, shop, wrong)) == "400 invalid_grant", wrong


@pytest.mark.threat("O10")
class TestScopesAndResources:
    async def test_a_refresh_widens_neither_scope_nor_resource(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, ada, "openid read offline_access", resources=API)

        answers = [
            await refresh(service, shop, tokens["refresh_token"], scope="openid read write"),
            await refresh(service, shop, tokens["refresh_token"], scope="email"),
            await refresh(service, shop, tokens["refresh_token"], scope="OPENID"),
            await refresh(service, shop, tokens["refresh_token"], resource=FILES),
            await refresh(service, shop, tokens["refresh_token"], resource=API + "/"),
            await refresh(service, shop, tokens["refresh_token"], resource=[API, FILES]),
        ]

        assert [error(answer) for answer in answers] == ["400 invalid_scope"] * 3 + ["400 invalid_target"] * 3
        assert error(await refresh(service, shop, tokens["refresh_token"])) == "200"

    async def test_a_code_gives_no_resource_that_was_not_granted(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        code = await add_code(service, shop, ada, scopes="openid read list", resources=API)

        assert error(await redeem(service, shop, code, resource=FILES)) == "400 invalid_target"
        narrowed = (await redeem(service, shop, code)).json()
        assert (narrowed["scope"], claims_of(narrowed["access_token"])["aud"]) == ("read", API)

    async def test_what_a_client_has_lost_is_not_refreshed(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        scopes = "openid email read offline_access"
        tokens = await first_tokens(service, shop, ada, scopes)
        for_api = await first_tokens(service, shop, ada, scopes, resources=API)
        reduced = "REPLACE(REPLACE(registration, ' email', ''), :api, 'https://gone.example.com')"
        await execute(service, f"UPDATE oauth_client SET registration = {reduced}", api=API)

        fewer = await refresh(service, shop, tokens["refresh_token"])
        gone = await refresh(service, shop, for_api["refresh_token"])

        assert fewer.json()["scope"] == "openid read offline_access"
        assert error(gone) == "400 invalid_target"

    async def test_a_client_gets_for_itself_what_it_was_given(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        for scope in ("read write", "openid", "offline_access", "READ", "*"):
            answer = await ask(service, shop, "client_credentials", scope=scope)
            assert error(answer) == "400 invalid_scope", scope
        assert error(await ask(service, shop, "client_credentials", resource=FILES, scope="read")) == (
            "400 invalid_scope"
        )


@pytest.mark.threat("O14")
async def test_no_token_is_stored_in_plain_text(
    service: Service, ada: Headers, shop: OAuthTestClient
) -> None:
    code = await add_code(service, shop, ada, scopes="openid offline_access", nonce="nonce-of-the-client")
    first = (await redeem(service, shop, code)).json()
    second = (await refresh(service, shop, first["refresh_token"])).json()
    stored = b""
    for table in ("oauth_code", "oauth_grant", "oauth_token", "oauth_client", "audit"):
        rows = await service.rows(f"SELECT * FROM {table}")
        assert rows
        stored += b"|".join(
            value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
        )

    secrets = [code, "nonce-of-the-client", shop.secret or ""]
    secrets += [
        body[name] for body in (first, second) for name in ("access_token", "refresh_token", "id_token")
    ]
    assert [secret for secret in secrets if secret.encode() in stored] == []


@pytest.mark.threat("O24")
class TestIdTokens:
    async def test_two_clients_cannot_compare_what_they_know(
        self, service: Service, ada: Headers, shop: OAuthTestClient, thief: OAuthTestClient
    ) -> None:
        one, again, other = [
            claims_of((await first_tokens(service, client, ada))["id_token"])
            for client in (shop, shop, thief)
        ]
        [session] = await service.rows("SELECT id FROM session")

        assert (one["aud"], other["aud"]) == (shop.client_id, thief.client_id)
        assert one["sid"] == again["sid"] != other["sid"]
        assert session.id not in json.dumps(one)

    async def test_a_nonce_is_in_the_first_token_only(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        plain = await first_tokens(service, shop, ada)
        bound = await first_tokens(service, shop, ada, nonce="n\u00e9 \u0022")
        later = (await refresh(service, shop, bound["refresh_token"])).json()

        assert "nonce" not in claims_of(plain["id_token"])
        assert claims_of(bound["id_token"])["nonce"] == "n\u00e9 \u0022"
        assert "nonce" not in claims_of(later["id_token"])

    async def test_two_factors_are_named(self, service: Service, ada: Headers, shop: OAuthTestClient) -> None:
        await execute(service, "UPDATE session SET amr = 'pwd otp mfa'")
        tokens = await first_tokens(service, shop, ada)
        await execute(service, "UPDATE session SET amr = 'pwd'")
        service.clock.advance(minutes=5)

        later = (await refresh(service, shop, tokens["refresh_token"])).json()
        claims = [claims_of(body["id_token"]) for body in (tokens, later)]

        assert [(one["acr"], one["amr"]) for one in claims] == [("2", ["pwd", "otp", "mfa"])] * 2
        assert claims[0]["auth_time"] == claims[1]["auth_time"]

    async def test_an_id_token_goes_with_its_access_token(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        one, other = [await first_tokens(service, shop, ada) for _ in range(2)]

        assert claims_of(one["id_token"])["at_hash"] != claims_of(other["id_token"])["at_hash"]


@pytest.mark.threat("O26")
async def test_no_key_and_no_database_leave_nothing_half_done(
    service: Service, ada: Headers, shop: OAuthTestClient
) -> None:
    """Without a key that signs, a code and a refresh token stay as they were."""
    code = await add_code(service, shop, ada, scopes="openid offline_access")
    tokens = await first_tokens(service, shop, ada)
    store = service.services.port[SigningKeyStore]
    await execute(service, "UPDATE signing_key SET revoked_at = created_at, private_jwk = NULL")
    await store.reload()

    answers = [await redeem(service, shop, code), await refresh(service, shop, tokens["refresh_token"])]
    await store.maintain()

    assert {error(answer) for answer in answers} == {"503 temporarily_unavailable"}
    assert all(answer.headers["retry-after"] for answer in answers)
    assert error(await redeem(service, shop, code)) == "200"
    assert error(await refresh(service, shop, tokens["refresh_token"])) == "200"
