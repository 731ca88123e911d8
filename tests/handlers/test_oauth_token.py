"""The operation oauth.token: tokens for codes, refresh tokens and clients."""

import base64
import hashlib
import json
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import import_key

from server.components.jwt import SigningKeyStore
from server.components.oauth import OAuthProvider
from tests.conftest import MakeService, SignIn
from tests.handlers.steps import ADA, execute, user_of
from tests.oauth import OAuthTestClient, add_client, add_public_client
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
from tests.service import BASE_URL, START, Service
from tests.trail import only

NOW = int(START.timestamp())


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


async def opened(service: Service, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of a token that a published key verifies."""
    header = jws.extract_compact(token.encode()).headers()
    keys = {key["kid"]: key for key in (await service.get("/jwks")).json()["keys"]}
    found = jws.deserialize_compact(token, import_key(keys[header["kid"]]), algorithms=[header["alg"]])
    return header, json.loads(found.payload)


@pytest.mark.operation("oauth.token")
class TestAuthorizationCode:
    async def test_gives_an_access_token_and_an_id_token(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada = await sign_up(username="ada_l")
        user = await user_of(service, ada)
        code = await add_code(service, shop, ada, scopes="openid profile email", nonce="n-1")
        service.clock.advance(seconds=30)

        answer = await redeem(service, shop, code)
        body = answer.json()
        header, claims = await opened(service, body["id_token"])
        sid = claims.pop("sid")

        assert answer.headers["cache-control"] == "no-store"
        assert list(body) == ["access_token", "token_type", "expires_in", "scope", "expires_at", "id_token"]
        assert (body["token_type"], body["expires_in"], body["expires_at"]) == ("Bearer", 600, NOW + 630)
        assert body["scope"] == "openid profile email"
        assert body["access_token"].startswith("gwa_")
        assert header["typ"] == "JWT"
        half = base64.urlsafe_b64encode(hashlib.sha256(body["access_token"].encode()).digest()[:16])
        assert claims == {
            "iss": BASE_URL, "sub": user["id"], "aud": shop.client_id, "iat": NOW + 30, "exp": NOW + 630,
            "auth_time": NOW, "acr": "1", "amr": ["pwd"], "nonce": "n-1", "at_hash": half.decode().rstrip("="),
            "name": "Ada", "preferred_username": "ada_l", "updated_at": NOW,
            "email": ADA, "email_verified": False,
        }  # fmt: skip
        assert len(sid) == 43

    async def test_gives_a_refresh_token_for_offline_access_to_clients_that_use_them(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada = await sign_up()
        other = await add_public_client(service, id_token_signed_response_alg="ES256", scope="openid")

        offline = await first_tokens(service, shop, ada)
        online = await first_tokens(service, shop, ada, "openid")
        without = await first_tokens(service, other, ada, "openid")

        assert offline["refresh_token"].startswith("gwr_")
        assert "refresh_token" not in online
        assert "refresh_token" not in without

    async def test_takes_public_clients_and_the_redirect_uri_that_was_used(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada, uri = await sign_up(), "http://127.0.0.1:4567/callback"
        native = await add_public_client(service, id_token_signed_response_alg="ES256")
        code = await add_code(service, native, ada, redirect_uri=uri)

        wrong = await redeem(service, native, code, redirect_uri="http://127.0.0.1:4568/callback")
        right = await redeem(service, native, code, redirect_uri=uri)

        assert (error(wrong), error(right)) == ("400 invalid_grant", "200")

    async def test_is_recorded(self, service: Service, sign_up: SignIn, shop: OAuthTestClient) -> None:
        ada = await sign_up()
        user = await user_of(service, ada)
        await first_tokens(service, shop, ada)

        record = await only(service, "oauth.token_issued")
        [row] = await service.rows("SELECT last_used_on FROM oauth_client")

        assert (record.user_id, record.actor_id) == (user["id"], None)
        assert record.details == {"clientId": shop.client_id, "grantType": "authorization_code"}
        assert row.last_used_on is not None

    async def test_names_what_is_missing(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        code = await add_code(service, shop, await sign_up())

        answers = [
            await ask(service, shop, "authorization_code", code_verifier=VERIFIER),
            await ask(service, shop, "authorization_code", code=code),
            await ask(service, shop, "refresh_token"),
            await service.client.post("/oauth2/token", data=shop.form),
        ]

        assert {error(answer) for answer in answers} == {"400 invalid_request"}
        assert [answer.json()["error_description"] for answer in answers] == [
            "code is missing", "code_verifier is missing", "refresh_token is missing", "grant_type is missing",
        ]  # fmt: skip

    @pytest.mark.threat("O16")
    async def test_a_code_ends_with_its_session_its_minute_and_a_ban(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada, bob = await sign_up(), await sign_up("bob@example.com")
        late, ended = await add_code(service, shop, bob), await add_code(service, shop, ada)
        banned = await add_code(service, shop, bob)
        await service.post("/sign-out", headers=ada)
        await execute(service, "UPDATE \"user\" SET banned = true WHERE email = 'bob@example.com'")

        answers = [await redeem(service, shop, ended), await redeem(service, shop, banned)]
        await execute(service, 'UPDATE "user" SET banned = false')
        service.clock.advance(minutes=1)
        answers.append(await redeem(service, shop, late))

        assert [error(answer) for answer in answers] == ["400 invalid_grant"] * 3


class TestResources:
    async def test_a_resource_gets_a_token_of_its_own_form_and_scopes(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada, both = await sign_up(), f"{API} {FILES}"
        user = await user_of(service, ada)
        scopes = "openid read list offline_access"

        signed = await first_tokens(service, shop, ada, scopes, resources=API)
        body = (await refresh(service, shop, signed["refresh_token"], resource=API)).json()
        header, claims = await opened(service, signed["access_token"])
        code = await add_code(service, shop, ada, scopes=scopes, resources=both)
        opaque = (await redeem(service, shop, code, resource=FILES)).json()

        assert (header["typ"], header["alg"]) == ("at+jwt", "ES256")
        assert len(claims.pop("jti")) == len(claims.pop("gid")) == 32
        assert claims == {
            "iss": BASE_URL, "sub": user["id"], "aud": API, "client_id": shop.client_id, "scope": "read",
            "iat": NOW, "exp": NOW + 600, "auth_time": NOW, "acr": "1", "amr": ["pwd"],
        }  # fmt: skip
        assert (signed["scope"], body["scope"], opaque["scope"]) == ("read", "read", "list")
        assert (opaque["access_token"][:4], opaque["expires_in"]) == ("gwa_", 300)
        assert "id_token" in opaque
        stored = "SELECT token FROM oauth_token WHERE resource = :api AND kind = 'access'"
        assert await service.rows(stored, api=API) == []

    async def test_one_of_several_resources_must_be_chosen(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada = await sign_up()
        code = await add_code(service, shop, ada, scopes="openid read", resources=f"{API} {FILES}")

        answers = [
            await redeem(service, shop, code),
            await redeem(service, shop, code, resource=[API, FILES]),
            await redeem(service, shop, code, resource="https://other.example.com"),
            await redeem(service, shop, code, resource=FILES),
            await redeem(service, shop, code, resource=API),
        ]

        assert [error(answer) for answer in answers] == [
            "400 invalid_target", "400 invalid_target", "400 invalid_target", "400 invalid_scope", "200",
        ]  # fmt: skip


class TestRefresh:
    async def test_replaces_the_refresh_token(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada = await sign_up()
        code = await add_code(service, shop, ada, scopes="openid email offline_access", nonce="n-1")
        first = (await redeem(service, shop, code)).json()
        await service.post("/sign-out", headers=ada)
        service.clock.advance(hours=1)

        second = (await refresh(service, shop, first["refresh_token"])).json()
        third = await refresh(service, shop, second["refresh_token"])
        _, old = await opened(service, first["id_token"])
        _, new = await opened(service, second["id_token"])

        assert list(second) == list(first)
        assert third.status_code == 200
        assert len({body["refresh_token"] for body in (first, second, third.json())}) == 3
        assert second["scope"] == "openid email offline_access"
        assert {name: new[name] for name in ("sub", "auth_time", "sid", "aud")} == {
            name: old[name] for name in ("sub", "auth_time", "sid", "aud")
        }
        assert "nonce" not in new

    async def test_can_ask_for_fewer_scopes_and_keeps_what_was_granted(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, await sign_up(), "openid email read offline_access")

        fewer = (await refresh(service, shop, tokens["refresh_token"], scope="read")).json()
        more = await refresh(service, shop, fewer["refresh_token"], scope="read write")
        all_again = (await refresh(service, shop, fewer["refresh_token"])).json()

        assert (fewer["scope"], "id_token" in fewer) == ("read", False)
        assert error(more) == "400 invalid_scope"
        assert all_again["scope"] == "openid email read offline_access"

    async def test_the_same_request_gets_the_same_response_for_a_while(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, await sign_up())
        first = await refresh(service, shop, tokens["refresh_token"])
        service.clock.advance(seconds=10)

        again = await refresh(service, shop, tokens["refresh_token"])

        assert (again.status_code, again.content) == (200, first.content)
        assert len(await service.rows("SELECT token FROM oauth_token WHERE kind = 'refresh'")) == 2

    async def test_kept_responses_are_erased(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        kept = "SELECT token FROM oauth_token WHERE replay IS NOT NULL"
        tokens = await first_tokens(service, shop, await sign_up())
        second = (await refresh(service, shop, tokens["refresh_token"])).json()
        await refresh(service, shop, second["refresh_token"])
        after_use = len(await service.rows(kept))
        service.clock.advance(seconds=10)
        [provider] = [one for one in service.services.components if isinstance(one, OAuthProvider)]
        await provider.forget_replays()

        assert (after_use, await service.rows(kept)) == (1, [])

    async def test_ends_with_the_token_and_the_grant(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        ada = await sign_up()
        tokens = await first_tokens(service, shop, ada, "email offline_access")
        ends = []
        for _ in range(7):
            service.clock.advance(days=29)
            answer = await refresh(service, shop, tokens["refresh_token"])
            ends.append(error(answer))
            tokens = answer.json() if answer.status_code == 200 else tokens

        assert ends == ["200"] * 6 + ["400 invalid_grant"]

        other = await first_tokens(service, shop, await sign_up("bob@example.com"), "email offline_access")
        service.clock.advance(days=30)
        assert error(await refresh(service, shop, other["refresh_token"])) == "400 invalid_grant"

    @pytest.mark.threat("O16")
    async def test_a_banned_user_gets_no_tokens(
        self, service: Service, sign_up: SignIn, shop: OAuthTestClient
    ) -> None:
        tokens = await first_tokens(service, shop, await sign_up())
        await execute(service, 'UPDATE "user" SET banned = true')

        banned = await refresh(service, shop, tokens["refresh_token"])
        await execute(service, 'UPDATE "user" SET banned = false')
        pardoned = await refresh(service, shop, tokens["refresh_token"])

        assert (error(banned), error(pardoned)) == ("400 invalid_grant", "200")


class TestClientCredentials:
    async def test_gives_an_access_token_for_the_client_itself(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        plain = (await ask(service, shop, "client_credentials")).json()
        signed = (await ask(service, shop, "client_credentials", scope="read", resource=API)).json()
        _, claims = await opened(service, signed["access_token"])
        [row] = await service.rows("SELECT grant_id, kind, scopes FROM oauth_token")

        assert list(plain) == ["access_token", "token_type", "expires_in", "scope", "expires_at"]
        assert plain["scope"] == "read list"
        assert (claims["sub"], claims["client_id"], claims["aud"]) == (shop.client_id, shop.client_id, API)
        assert claims.keys().isdisjoint({"gid", "auth_time", "acr", "amr"})
        assert (row.grant_id, row.kind, row.scopes) == (None, "access", "read list")

    async def test_refuses_what_the_client_may_not_have(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        plain = await add_client(service)
        answers = [
            await ask(service, plain, "client_credentials"),
            await ask(service, plain, "refresh_token", refresh_token="gwr_" + "x" * 32),
            await ask(service, shop, "password", username="ada", password="secret"),
            await ask(service, shop, "client_credentials", scope="read write"),
            await ask(service, shop, "client_credentials", scope="openid"),
            await ask(service, shop, "client_credentials", resource="https://other.example.com"),
        ]

        assert [error(answer) for answer in answers] == [
            "400 unauthorized_client", "400 unauthorized_client", "400 unsupported_grant_type",
            "400 invalid_scope", "400 invalid_scope", "400 invalid_target",
        ]  # fmt: skip
