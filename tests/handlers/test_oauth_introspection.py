"""Introspection, UserInfo and revocation of openapi/paths/oauth.yaml."""

import json

import pytest

from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.people import add_person
from tests.handlers.steps import (
    ADA,
    NEW_PASSWORD,
    UNKNOWN,
    bearer,
    execute,
    join,
    reset_token,
    set_user,
    token_of,
    user_of,
    works,
)
from tests.oauth import OAuthTestClient, add_client, add_public_client
from tests.oauth_tokens import SCOPES, introspect, is_active, issue, issue_to_client
from tests.service import BASE_URL, PASSWORD, Service
from tests.trail import of_event, only

NOTES, FILES = "https://notes.example", "https://files.example"
RESOURCES = {
    NOTES: {"name": "Notes", "scopes": ["notes:read"], "format": "jwt"},
    FILES: {"name": "Files", "scopes": ["files:read"], "format": "opaque"},
}
SETTINGS = {
    "oauth.scopes": json.dumps({"notes:read": "Read your notes", "files:read": "Read your files"}),
    "oauth.resources": json.dumps(RESOURCES),
}
OFFLINE = f"{SCOPES} offline_access"
NOW = 1767268800
"""The moment at which every test begins, in seconds."""
INTROSPECT, REVOKE, USER_INFO = "/oauth2/introspect", "/oauth2/revoke", "/oauth2/userinfo"
DEAD = {"active": False}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service with two resources: the access tokens of one are signed, those of the other opaque."""
    return await make_service(SETTINGS)


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    return await sign_up(ADA)


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A client that may ask for everything."""
    return await add_client(
        service,
        scope=f"{OFFLINE} notes:read files:read",
        resources=[NOTES, FILES],
        grant_types=["authorization_code", "refresh_token", "client_credentials"],
        client_credentials_scopes=["notes:read", "files:read"],
    )


@pytest.fixture
async def other(service: Service) -> OAuthTestClient:
    """Another client, of no resource."""
    return await add_client(service, client_name="Other")


@pytest.fixture
async def files(service: Service) -> OAuthTestClient:
    """The server of a resource."""
    return await add_client(service, client_name="Files", resource_server=[FILES])


async def revoke(service: Service, client: OAuthTestClient, token: str) -> None:
    answer = await service.client.post(REVOKE, data={"token": token}, headers=client.basic)
    assert (answer.status_code, answer.json()) == (200, {})


@pytest.mark.operation("oauth.introspect")
class TestIntrospect:
    async def test_an_access_token_of_a_user(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada)

        assert await introspect(service, shop, made["access_token"]) == {
            "active": True,
            "client_id": shop.client_id,
            "scope": SCOPES,
            "token_type": "Bearer",
            "iss": BASE_URL,
            "sub": (await user_of(service, ada))["id"],
            "iat": NOW,
            "exp": NOW + 600,
            "auth_time": NOW,
            "acr": "1",
            "amr": ["pwd"],
        }

    async def test_a_refresh_token_has_no_type_that_a_resource_accepts(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes=OFFLINE)

        seen = await introspect(service, shop, made["refresh_token"])

        assert (seen["active"], seen["scope"], seen["exp"]) == (True, OFFLINE, NOW + 30 * 86400)
        assert "token_type" not in seen

    async def test_a_signed_token(self, service: Service, ada: Headers, shop: OAuthTestClient) -> None:
        made = await issue(service, shop, ada, scopes=f"{SCOPES} notes:read", resources=NOTES)

        seen = await introspect(service, shop, made["access_token"])

        assert len(str(seen.pop("jti"))) == 32
        assert seen == {
            "active": True,
            "client_id": shop.client_id,
            "scope": "notes:read",
            "token_type": "Bearer",
            "iss": BASE_URL,
            "sub": (await user_of(service, ada))["id"],
            "aud": NOTES,
            "iat": NOW,
            "exp": NOW + 600,
            "auth_time": NOW,
            "acr": "1",
            "amr": ["pwd"],
        }

    @pytest.mark.parametrize("resource", [NOTES, FILES])
    async def test_a_token_of_a_client_itself(
        self, service: Service, shop: OAuthTestClient, resource: str
    ) -> None:
        made = await issue_to_client(service, shop, "notes:read files:read", resource=resource)

        seen = await introspect(service, shop, made["access_token"])

        seen.pop("jti", None)
        assert seen == {
            "active": True,
            "client_id": shop.client_id,
            "scope": RESOURCES[resource]["scopes"][0],
            "token_type": "Bearer",
            "iss": BASE_URL,
            "sub": shop.client_id,
            "aud": resource,
            "iat": NOW,
            "exp": NOW + 600,
        }

    @pytest.mark.threat("O15")
    async def test_another_client_sees_nothing(
        self, service: Service, ada: Headers, shop: OAuthTestClient, other: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes=OFFLINE)
        signed = await issue(service, shop, ada, scopes="notes:read", resources=NOTES)
        for token in (made["access_token"], made["refresh_token"], signed["access_token"]):
            assert await introspect(service, other, token) == DEAD

    @pytest.mark.threat("O15")
    async def test_the_server_of_a_resource_sees_the_access_tokens_for_it(
        self, service: Service, ada: Headers, shop: OAuthTestClient, files: OAuthTestClient
    ) -> None:
        scopes = f"{OFFLINE} files:read notes:read"
        made = await issue(service, shop, ada, scopes=scopes, resources=f"{FILES} {NOTES}", resource=FILES)
        foreign = await issue(service, shop, ada, scopes=scopes, resources=f"{FILES} {NOTES}", resource=NOTES)
        of_none = await issue(service, shop, ada)
        alone = await issue(service, shop, ada, scopes=f"{OFFLINE} files:read", resources=FILES)

        seen = await introspect(service, files, made["access_token"])

        assert (seen["active"], seen["aud"], seen["scope"]) == (True, FILES, "files:read")
        hidden = [foreign["access_token"], of_none["access_token"], made["refresh_token"]]
        for token in [*hidden, alone["refresh_token"]]:
            assert await introspect(service, files, token) == DEAD

    @pytest.mark.threat("O15")
    async def test_a_public_client_sees_nothing(self, service: Service, ada: Headers) -> None:
        public = await add_public_client(service)
        made = await issue(service, public, ada)

        answer = await service.client.post(INTROSPECT, data={"token": made["access_token"], **public.form})

        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")

    @pytest.mark.threat("O15")
    async def test_without_authentication_nothing_is_seen(
        self, service: Service, ada: Headers, shop: OAuthTestClient, other: OAuthTestClient
    ) -> None:
        token = (await issue(service, shop, ada))["access_token"]
        wrong: list[tuple[dict[str, str], dict[str, str]]] = [
            ({}, {}),
            ({"client_id": shop.client_id}, {}),
            ({"client_id": shop.client_id, "client_secret": other.secret or ""}, {}),
            ({"client_id": other.client_id, "client_secret": shop.secret or ""}, {}),
            ({}, bearer(token)),
            ({}, ada),
        ]
        for form, headers in wrong:
            answer = await service.client.post(INTROSPECT, data={"token": token, **form}, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")

    @pytest.mark.threat("O15", "O14")
    async def test_what_is_no_token_of_oauth_is_not_active(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes=OFFLINE)
        of_session = (await service.get("/token", headers=ada)).json()["token"]
        access = made["access_token"]
        texts = [
            token_of(ada), of_session, made["id_token"], UNKNOWN, f"gwa_{UNKNOWN}", f"gwr_{access[4:]}", access[4:],
            f"{access} ", access.upper(), f"{access}é", "a.b.c", "é", shop.secret or "",
        ]  # fmt: skip
        for text in texts:
            assert await introspect(service, shop, text) == DEAD, text

    async def test_the_token_is_needed(self, service: Service, shop: OAuthTestClient) -> None:
        answer = await service.client.post(INTROSPECT, headers=shop.basic)

        assert (answer.status_code, answer.json()) == (
            400,
            {"error": "invalid_request", "error_description": "token is missing"},
        )

    async def test_a_hint_does_not_decide(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        token = (await issue(service, shop, ada))["access_token"]
        for hint in ("access_token", "refresh_token", "unknown"):
            form = {"token": token, "token_type_hint": hint}
            answer = await service.client.post(INTROSPECT, data=form, headers=shop.basic)
            assert answer.json()["active"] is True

    async def test_servers_may_ask_ten_times_as_often_as_others(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "limits.requests": "2"})
        client = await add_client(service)

        asked = [
            (await service.client.post(INTROSPECT, data={"token": UNKNOWN}, headers=client.basic)).status_code
            for _ in range(21)
        ]

        assert asked == [200] * 20 + [429]


class TestEnd:
    """What ends a token, as introspection and UserInfo tell of it; the matrix has the events."""

    @pytest.mark.threat("O16")
    async def test_a_token_ends_at_its_expiry(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada)
        signed = await issue(service, shop, ada, scopes="notes:read", resources=NOTES)

        service.clock.advance(seconds=599)
        assert await is_active(service, shop, made["access_token"])
        assert await is_active(service, shop, signed["access_token"])

        service.clock.advance(seconds=1)
        assert await introspect(service, shop, made["access_token"]) == DEAD
        assert await introspect(service, shop, signed["access_token"]) == DEAD
        answer = await service.get(USER_INFO, headers=bearer(made["access_token"]))
        assert answer.status_code == 401

    @pytest.mark.threat("O16")
    async def test_an_online_grant_ends_with_its_session_and_an_offline_one_stays(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        online = [
            (await issue(service, shop, ada))["access_token"],
            (await issue(service, shop, ada, scopes="notes:read", resources=NOTES))["access_token"],
        ]
        scopes = "notes:read offline_access"
        offline = [
            (await issue(service, shop, ada, scopes=OFFLINE))["access_token"],
            (await issue(service, shop, ada, scopes=scopes, resources=NOTES))["access_token"],
        ]

        await service.post("/sign-out", headers=ada)

        assert [await is_active(service, shop, token) for token in online] == [False, False]
        assert [await is_active(service, shop, token) for token in offline] == [True, True]
        answers = [await service.get(USER_INFO, headers=bearer(each[0])) for each in (online, offline)]
        assert [answer.status_code for answer in answers] == [401, 200]

    @pytest.mark.threat("O16")
    async def test_an_online_grant_ends_when_its_session_expires(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "session.expires_in": "5m"})
        ada, grant_types = await join(service), ["authorization_code", "refresh_token"]
        shop = await add_client(service, scope=OFFLINE, grant_types=grant_types)
        online = await issue(service, shop, ada)
        offline = await issue(service, shop, ada, scopes=OFFLINE)

        service.clock.advance(minutes=5)

        assert not await is_active(service, shop, online["access_token"])
        assert await is_active(service, shop, offline["access_token"])

    @pytest.mark.threat("O16")
    async def test_a_banned_user_is_not_seen_while_banned(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes=OFFLINE)
        signed = await issue(service, shop, ada, scopes="notes:read offline_access", resources=NOTES)
        held = [made["access_token"], made["refresh_token"], signed["access_token"]]

        await set_user(service, ADA, banned=True)
        assert [await is_active(service, shop, token) for token in held] == [False] * 3
        answer = await service.get(USER_INFO, headers=bearer(made["access_token"]))
        assert answer.json()["error"] == "invalid_token"

        await set_user(service, ADA, banned=False)
        assert [await is_active(service, shop, token) for token in held] == [True] * 3

    @pytest.mark.threat("O16")
    @pytest.mark.parametrize(
        "statement", ["UPDATE oauth_client SET disabled_at = created_at", "DELETE FROM oauth_client"]
    )
    async def test_the_tokens_of_a_client_end_with_it(
        self, service: Service, ada: Headers, shop: OAuthTestClient, files: OAuthTestClient, statement: str
    ) -> None:
        signed = await add_client(service, client_name="Notes", resource_server=[NOTES])
        opaque = [
            await issue(service, shop, ada, scopes="files:read", resources=FILES),
            await issue_to_client(service, shop, "files:read", resource=FILES),
        ]
        jwts = [
            await issue(service, shop, ada, scopes="notes:read", resources=NOTES),
            await issue_to_client(service, shop, "notes:read", resource=NOTES),
        ]
        held = [(files, made) for made in opaque] + [(signed, made) for made in jwts]
        assert [await is_active(service, by, made["access_token"]) for by, made in held] == [True] * 4

        await execute(service, f"{statement} WHERE client_id = :id", id=shop.client_id)

        assert [await is_active(service, by, made["access_token"]) for by, made in held] == [False] * 4

    @pytest.mark.threat("O15", "O16")
    async def test_a_disabled_client_sees_nothing_of_its_own(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        token = (await issue(service, shop, ada))["access_token"]
        await execute(service, "UPDATE oauth_client SET disabled_at = created_at")

        answer = await service.client.post(INTROSPECT, data={"token": token}, headers=shop.basic)

        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


@pytest.mark.threat("O16")
class TestPasswords:
    """A new password ends what an intruder who knew the old one may have connected."""

    @pytest.fixture
    async def token(self, service: Service, ada: Headers, shop: OAuthTestClient) -> str:
        """The access token of an application with offline access."""
        return (await issue(service, shop, ada, scopes=OFFLINE))["access_token"]

    @pytest.mark.parametrize("ends", [True, False])
    async def test_a_change_ends_grants_with_the_other_sessions(
        self, service: Service, ada: Headers, shop: OAuthTestClient, token: str, ends: bool
    ) -> None:
        body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, "revokeOtherSessions": ends}
        await service.post("/change-password", body, headers=ada)

        assert await is_active(service, shop, token) is not ends

    async def test_a_reset_ends_grants(
        self, service: Service, ada: Headers, shop: OAuthTestClient, token: str
    ) -> None:
        reset = await reset_token(service, ADA)
        await service.post("/reset-password", {"token": reset, "newPassword": NEW_PASSWORD})

        assert not await is_active(service, shop, token)

    async def test_a_password_that_an_administrator_sets_ends_grants(
        self, service: Service, ada: Headers, shop: OAuthTestClient, token: str
    ) -> None:
        user, root = await user_of(service, ada), await add_person(service, "admin", "root@example.com")
        body = {"userId": user["id"], "newPassword": NEW_PASSWORD}
        answer = await service.post("/admin/set-user-password", body, headers=root.headers)

        assert answer.status_code == 200, answer.text
        assert not await is_active(service, shop, token)


@pytest.mark.operation("oauth.userinfo", "oauth.userinfo_by_post")
class TestUserInfo:
    async def test_scopes_open_claims(self, service: Service, shop: OAuthTestClient) -> None:
        ada = await join(service, ADA, image="https://img.example/ada.png", username="Ada_L")
        user = await user_of(service, ada)
        about = {
            "openid": {"sub": user["id"]},
            "profile": {
                "name": "Ada",
                "picture": "https://img.example/ada.png",
                "preferred_username": "ada_l",
                "updated_at": NOW,
            },
            "email": {"email": ADA, "email_verified": False},
        }
        for scopes in ("openid", "openid profile", "openid email", SCOPES):
            token = (await issue(service, shop, ada, scopes=scopes))["access_token"]
            expected = {name: value for scope in scopes.split() for name, value in about[scope].items()}
            for answer in (
                await service.get(USER_INFO, headers=bearer(token)),
                await service.client.post(USER_INFO, headers=bearer(token)),
                await service.client.post(USER_INFO, data={"other": "1"}, headers=bearer(token)),
            ):
                assert (answer.status_code, answer.json()) == (200, expected)

    async def test_fields_that_are_not_set_are_omitted(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        token = (await issue(service, shop, ada, scopes="openid profile"))["access_token"]

        answer = await service.get(USER_INFO, headers=bearer(token))

        assert answer.json().keys() == {"sub", "name", "updated_at"}
        assert answer.headers["cache-control"] == "no-store"

    async def test_pages_of_every_origin_may_ask(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        headers = {
            **bearer((await issue(service, shop, ada))["access_token"]),
            "Origin": "https://spa.example",
        }

        answers = [await service.get(USER_INFO, headers=headers), await service.get(USER_INFO)]

        assert answers[0].headers["access-control-allow-origin"] == "*"
        assert answers[1].headers["www-authenticate"] == "Bearer"

    @pytest.mark.threat("O10")
    async def test_a_token_for_a_resource_is_refused(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        for resource in (NOTES, FILES):
            scopes = f"{SCOPES} notes:read files:read"
            made = await issue(service, shop, ada, scopes=scopes, resources=resource)
            assert await refused(service, bearer(made["access_token"])) == (401, "invalid_token")

    @pytest.mark.threat("O14")
    async def test_what_is_no_access_token_is_refused(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes=OFFLINE)
        of_session = (await service.get("/token", headers=ada)).json()["token"]
        access = made["access_token"]
        texts = [
            token_of(ada), of_session, made["id_token"], made["refresh_token"], UNKNOWN, f"gwa_{UNKNOWN}", access[4:],
            f"{access}, {access}", f"{access}=", "",
        ]  # fmt: skip
        for text in texts:
            assert await refused(service, bearer(text)) == (401, "invalid_token"), text
        cookie = {"Cookie": f"service.session-token={token_of(ada)}"}
        for headers in (cookie, {"Authorization": f"Basic {access}"}, {"Authorization": access}):
            assert await refused(service, headers) == (401, "invalid_token")

    async def test_without_openid_it_opens_nothing(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes="profile email")

        answer = await service.get(USER_INFO, headers=bearer(made["access_token"]))

        assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")
        assert answer.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="openid"'

    async def test_the_token_must_be_in_the_header(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        token = (await issue(service, shop, ada))["access_token"]
        both = {"access_token": token}
        answers = [
            await service.get(USER_INFO, params=both),
            await service.get(USER_INFO, params=both, headers=bearer(token)),
            await service.client.post(USER_INFO, data=both),
            await service.client.post(USER_INFO, data=both, headers=bearer(token)),
            await service.client.get(USER_INFO, headers=[*bearer(token).items(), *bearer(token).items()]),
        ]

        assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [
            (400, "invalid_request")
        ] * 5


async def refused(service: Service, headers: Headers) -> tuple[int, str]:
    service.client.cookies.clear()
    answer = await service.get(USER_INFO, headers=headers)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    return answer.status_code, answer.json()["error"]


@pytest.mark.operation("oauth.revoke")
class TestRevoke:
    @pytest.mark.both_databases
    @pytest.mark.threat("O16")
    async def test_a_refresh_token_ends_everything_of_its_grant(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada, scopes=OFFLINE)
        again = await issue(service, shop, ada, scopes=OFFLINE)

        await revoke(service, shop, made["refresh_token"])

        assert await introspect(service, shop, made["refresh_token"]) == DEAD
        assert await introspect(service, shop, made["access_token"]) == DEAD
        assert await is_active(service, shop, again["access_token"])
        record = await only(service, "oauth.token_revoked")
        user = await user_of(service, ada)
        assert (record.user_id, record.details) == (
            user["id"],
            {"clientId": shop.client_id, "kind": "refresh"},
        )

    async def test_the_signed_tokens_of_the_grant_end_too(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        scopes = "notes:read offline_access"
        made = await issue(service, shop, ada, scopes=scopes, resources=NOTES)

        await revoke(service, shop, made["refresh_token"])

        assert await introspect(service, shop, made["access_token"]) == DEAD

    @pytest.mark.threat("O16")
    @pytest.mark.both_databases
    async def test_an_access_token_ends_itself(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        scopes = f"{OFFLINE} notes:read"
        opaque = await issue(service, shop, ada, scopes=scopes)
        signed = await issue(service, shop, ada, scopes=scopes, resources=NOTES)
        own = await issue_to_client(service, shop, "notes:read files:read", resource=FILES)
        signed_own = await issue_to_client(service, shop, "notes:read", resource=NOTES)
        for made in (opaque, signed, own, signed_own):
            for _ in range(2):
                await revoke(service, shop, made["access_token"])
            assert await introspect(service, shop, made["access_token"]) == DEAD

        assert await is_active(service, shop, opaque["refresh_token"])
        assert await is_active(service, shop, signed["refresh_token"])
        assert len(await of_event(service, "oauth.token_revoked")) == 4

    @pytest.mark.threat("O15")
    async def test_tokens_of_others_stay(
        self,
        service: Service,
        ada: Headers,
        shop: OAuthTestClient,
        other: OAuthTestClient,
        files: OAuthTestClient,
    ) -> None:
        scopes = f"{OFFLINE} files:read notes:read"
        made = await issue(service, shop, ada, scopes=scopes, resources=FILES)
        signed = await issue(service, shop, ada, scopes=scopes, resources=NOTES)
        held = [made["access_token"], made["refresh_token"], signed["access_token"], signed["refresh_token"]]

        for client in (other, files):
            for token in held:
                await revoke(service, client, token)

        assert [await is_active(service, shop, token) for token in held] == [True] * 4
        assert await of_event(service, "oauth.token_revoked") == []

    @pytest.mark.threat("O14")
    async def test_what_is_no_token_of_oauth_stays(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        made = await issue(service, shop, ada)
        for text in (token_of(ada), made["id_token"], UNKNOWN, f"gwr_{UNKNOWN}"):
            await revoke(service, shop, text)

        assert await works(service, ada)
        assert await is_active(service, shop, made["access_token"])

    async def test_a_public_client_names_itself(self, service: Service, ada: Headers) -> None:
        public = await add_public_client(service)
        token = (await issue(service, public, ada))["access_token"]

        answer = await service.client.post(REVOKE, data={"token": token, **public.form})

        assert (answer.status_code, answer.json()) == (200, {})
        assert (await service.get(USER_INFO, headers=bearer(token))).status_code == 401

    async def test_the_token_and_the_client_are_needed(self, service: Service, shop: OAuthTestClient) -> None:
        answers = [
            await service.client.post(REVOKE, data={"token_type_hint": "x"}, headers=shop.basic),
            await service.client.post(REVOKE, data={"token": UNKNOWN}),
        ]

        assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [
            (400, "invalid_request"),
            (401, "invalid_client"),
        ]
