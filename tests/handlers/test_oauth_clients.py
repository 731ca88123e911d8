"""The operations of openapi/paths/oauth_clients.yaml."""

import asyncio
import json
import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import pytest

from domain import tokens
from domain.context import Context
from domain.oauth_clients import clients, initial_tokens
from models.oauth_client import ClientSource
from server.components import cleanup
from server.components.oauth_clients import OAuthClients
from server.config.sources import ConfigurationError
from tests.conftest import Headers, MakeService
from tests.handlers.people import Person, add_person
from tests.handlers.steps import code, execute, join
from tests.oauth import REDIRECT_URI, add_client, basic
from tests.oauth_codes import API, FILES, add_code, error, first_tokens, redeem, refresh
from tests.oauth_codes import SETTINGS as RESOURCES
from tests.service import START, Service
from tests.trail import of_event

SHOP = {"client_name": "Shop", "redirect_uris": [REDIRECT_URI]}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({"limits.enabled": "false"})


@pytest.fixture
async def admin(service: Service) -> Person:
    return await add_person(service, "admin", "root@example.com")


async def post(service: Service, by: Person, path: str, body: Mapping[str, Any]) -> httpx.Response:
    return await service.post(f"/oauth2/{path}", body, headers=by.headers)


async def create(service: Service, by: Person, **members: Any) -> Any:
    answer = await post(service, by, "create-client", {**SHOP, **members})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def get(service: Service, by: Person, client_id: str) -> httpx.Response:
    return await service.get("/oauth2/get-client", params={"client_id": client_id}, headers=by.headers)


async def listed(service: Service, by: Person) -> list[str]:
    answer = await service.get("/oauth2/get-clients", headers=by.headers)
    assert answer.status_code == 200, answer.text
    return [one["client_id"] for one in answer.json()]


async def authenticates(service: Service, client_id: str, secret: str) -> bool:
    """Return whether a client is accepted with this secret."""
    headers = basic(client_id, secret)
    answer = await service.client.post("/oauth2/revoke", data={"token": "gwr_unknown"}, headers=headers)
    return answer.status_code == 200


async def initial_token(service: Service, *, uses: int = 1) -> str:
    async def job(ctx: Context) -> str:
        return (await initial_tokens.create(ctx, "ci", uses=uses, expires_in=timedelta(hours=1)))[1]

    return await service.services.unit_of_work.run(job)


class TestManagement:
    @pytest.mark.operation("oauth_clients.create", "oauth_clients.read", "oauth_clients.list")
    async def test_an_administrator_creates_a_client(self, service: Service, admin: Person) -> None:
        created = await create(service, admin)
        secret = created.pop("client_secret")

        assert created.pop("client_secret_expires_at") == 0
        assert created == {
            "client_id": created["client_id"],
            "client_id_issued_at": int(START.timestamp()),
            "client_name": "Shop",
            "application_type": "web",
            "redirect_uris": [REDIRECT_URI],
            "post_logout_redirect_uris": [],
            "token_endpoint_auth_method": "client_secret_basic",
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
            "scope": "openid profile email",
            "resources": [],
            "client_credentials_scopes": [],
            "id_token_signed_response_alg": "ES256",
            "skip_consent": False,
            "session_sign_in": False,
            "resource_server": [],
            "disabled": False,
            "source": "admin",
        }
        assert (await get(service, admin, created["client_id"])).json() == created
        assert await listed(service, admin) == [created["client_id"]]
        assert await authenticates(service, created["client_id"], secret)
        assert len(await of_event(service, "oauth_client.created")) == 1

    async def test_a_client_without_a_secret_gets_none(self, service: Service, admin: Person) -> None:
        created = await create(service, admin, token_endpoint_auth_method="none")

        assert not {"client_secret", "client_secret_expires_at"} & created.keys()

    @pytest.mark.parametrize(
        ("members", "expected", "named"),
        [
            ({"client_name": None}, "INVALID_CLIENT_METADATA", "client_name"),
            ({"scope": "openid unknown"}, "INVALID_CLIENT_METADATA", "scope"),
            ({"skip_consent": True}, "INVALID_CLIENT_METADATA", "skip_consent"),
            ({"session_sign_in": True}, "INVALID_CLIENT_METADATA", "session_sign_in"),
            ({"redirect_uris": ["https://shop.example/../"]}, "INVALID_REDIRECT_URI", "redirect_uris"),
            ({"redirect_uris": []}, "INVALID_REDIRECT_URI", "redirect_uris"),
            ({"redirect_uris": "https://shop.example"}, "VALIDATION_ERROR", "redirect_uris"),
            (
                {"backchannel_logout_uri": "https://10.0.0.1/logout"},
                "INVALID_CLIENT_METADATA",
                "backchannel_logout_uri",
            ),
        ],
    )
    @pytest.mark.threat("O1", "O13")
    async def test_metadata_that_cannot_be_used(
        self, service: Service, admin: Person, members: dict[str, Any], expected: str, named: str
    ) -> None:
        refused = await post(service, admin, "create-client", {**SHOP, **members})

        assert code(refused) == f"400 {expected}"
        assert named in refused.json()["message"]

    @pytest.mark.operation("oauth_clients.update")
    async def test_members_are_changed(self, service: Service, admin: Person) -> None:
        created = await create(service, admin, tos_uri="https://shop.example/terms")
        update = {"client_name": "Shop 2", "tos_uri": None, "redirect_uris": ["https://shop.example/new"]}

        answer = await post(
            service, admin, "update-client", {"client_id": created["client_id"], "update": update}
        )

        changed = answer.json()
        assert (changed["client_name"], changed["redirect_uris"]) == ("Shop 2", ["https://shop.example/new"])
        assert "tos_uri" not in changed
        assert (await get(service, admin, created["client_id"])).json() == changed
        [event] = await of_event(service, "oauth_client.updated")
        assert event.details["members"] == ["client_name", "redirect_uris", "tos_uri"]

    async def test_the_way_to_authenticate_cannot_be_changed(self, service: Service, admin: Person) -> None:
        created = await create(service, admin)
        body = {"client_id": created["client_id"], "update": {"token_endpoint_auth_method": "none"}}

        refused = await post(service, admin, "update-client", body)

        assert code(refused) == "400 INVALID_CLIENT_METADATA"

    async def test_what_the_operator_has_set_stays(self, service: Service, admin: Person) -> None:
        client = await add_client(service, skip_consent=True)
        update = {"client_name": "Shop 2"}

        answer = await post(
            service, admin, "update-client", {"client_id": client.client_id, "update": update}
        )

        assert (answer.json()["client_name"], answer.json()["skip_consent"]) == ("Shop 2", True)

    @pytest.mark.operation("oauth_clients.rotate_secret")
    @pytest.mark.threat("O11")
    async def test_the_previous_secret_is_accepted_for_a_day(self, service: Service, admin: Person) -> None:
        created = await create(service, admin)
        client_id, first = created["client_id"], created["client_secret"]

        answer = await post(service, admin, "client/rotate-secret", {"client_id": client_id})
        second = answer.json()["client_secret"]

        assert second != first
        assert await authenticates(service, client_id, second)
        assert await authenticates(service, client_id, first)
        service.clock.advance(hours=24)
        assert not await authenticates(service, client_id, first)
        assert await authenticates(service, client_id, second)

    @pytest.mark.threat("O11")
    async def test_only_one_previous_secret_is_accepted(self, service: Service, admin: Person) -> None:
        created = await create(service, admin)
        for _ in range(2):
            await post(service, admin, "client/rotate-secret", {"client_id": created["client_id"]})

        assert not await authenticates(service, created["client_id"], created["client_secret"])

    async def test_a_client_without_a_secret_has_none_to_replace(
        self, service: Service, admin: Person
    ) -> None:
        created = await create(service, admin, token_endpoint_auth_method="none")

        refused = await post(service, admin, "client/rotate-secret", {"client_id": created["client_id"]})

        assert code(refused) == "400 INVALID_CLIENT_METADATA"

    @pytest.mark.operation("oauth_clients.remove")
    async def test_a_client_is_deleted(self, service: Service, admin: Person) -> None:
        created = await create(service, admin)

        answer = await post(service, admin, "delete-client", {"client_id": created["client_id"]})

        assert answer.json() == {"success": True}
        assert await listed(service, admin) == []
        assert not await authenticates(service, created["client_id"], created["client_secret"])
        assert (await get(service, admin, created["client_id"])).status_code == 404

    @pytest.mark.threat("O11", "O16")
    async def test_a_disabled_client_is_refused_until_it_is_enabled(
        self, service: Service, admin: Person
    ) -> None:
        created = await create(service, admin)
        client_id, secret = created["client_id"], created["client_secret"]

        for is_disabled in (True, False):
            body = {"client_id": client_id, "update": {"disabled": is_disabled}}
            answer = await post(service, admin, "update-client", body)
            assert answer.json()["disabled"] is is_disabled
            assert await authenticates(service, client_id, secret) is not is_disabled

        assert len(await of_event(service, "oauth_client.disabled")) == 1

    async def test_unknown_clients(self, service: Service, admin: Person) -> None:
        unknown = {"client_id": "app_unknown"}
        answers = [
            await get(service, admin, "app_unknown"),
            await post(service, admin, "update-client", {**unknown, "update": {}}),
            await post(service, admin, "client/rotate-secret", unknown),
            await post(service, admin, "delete-client", unknown),
        ]

        assert {code(answer) for answer in answers} == {"404 CLIENT_NOT_FOUND"}

    @pytest.mark.threat("O14")
    async def test_it_needs_the_permission_and_a_fresh_session(self, service: Service, admin: Person) -> None:
        created = await create(service, admin)
        eve = await add_person(service, "user", "eve@example.com")
        one = {"client_id": created["client_id"]}
        changes: dict[str, Mapping[str, Any]] = {
            "create-client": SHOP,
            "update-client": {**one, "update": {"client_name": "Evil"}},
            "client/rotate-secret": one,
            "delete-client": one,
        }

        for path, body in changes.items():
            assert code(await post(service, eve, path, body)) == "403 FORBIDDEN", path
        assert code(await get(service, eve, created["client_id"])) == "403 FORBIDDEN"
        assert code(await service.get("/oauth2/get-clients", headers=eve.headers)) == "403 FORBIDDEN"
        service.clock.advance(days=1, seconds=1)
        for path, body in changes.items():
            assert code(await post(service, admin, path, body)) == "403 SESSION_NOT_FRESH", path

    async def test_a_client_from_the_configuration_is_read_only(
        self, service: Service, admin: Person
    ) -> None:
        client = await add_client(service, source=ClientSource.CONFIG)
        one = {"client_id": client.client_id}

        changes: dict[str, dict[str, Any]] = {
            "update-client": {**one, "update": {"disabled": True}},
            "client/rotate-secret": one,
            "delete-client": one,
        }
        for path, body in changes.items():
            assert code(await post(service, admin, path, body)) == "400 CLIENT_READ_ONLY", path
        assert (await get(service, admin, client.client_id)).json()["source"] == "config"


class TestManagementByUsers:
    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        return await make_service({"oauth.client_management": "users", "limits.enabled": "false"})

    @pytest.fixture
    async def ada(self, service: Service) -> Person:
        return await add_person(service, "user", "ada@example.com")

    @pytest.mark.threat("O14")
    async def test_users_have_clients_of_their_own(self, service: Service, ada: Person) -> None:
        eve = await add_person(service, "user", "eve@example.com")
        created = await create(service, ada)
        one = {"client_id": created["client_id"]}

        assert (created["source"], created["user_id"]) == ("user", ada.id)
        assert await listed(service, ada) == [created["client_id"]]
        assert await listed(service, eve) == []
        foreign = [
            await get(service, eve, created["client_id"]),
            await post(service, eve, "update-client", {**one, "update": {"client_name": "Evil"}}),
            await post(service, eve, "client/rotate-secret", one),
            await post(service, eve, "delete-client", one),
        ]
        assert {code(answer) for answer in foreign} == {"404 CLIENT_NOT_FOUND"}
        assert (await post(service, ada, "delete-client", one)).status_code == 200

    @pytest.mark.threat("O13")
    async def test_they_may_set_less(self, service: Service, ada: Person) -> None:
        for member in (
            {"client_credentials_scopes": ["orders:read"]},
            {"backchannel_logout_uri": "https://93.184.215.14/logout"},
            {"skip_consent": True},
        ):
            refused = await post(service, ada, "create-client", {**SHOP, **member})
            assert code(refused) == "400 INVALID_CLIENT_METADATA"

    @pytest.mark.threat("O14")
    async def test_a_session_must_be_fresh(self, service: Service, ada: Person) -> None:
        service.clock.advance(days=1, seconds=1)

        assert code(await post(service, ada, "create-client", SHOP)) == "403 SESSION_NOT_FRESH"

    async def test_clients_go_with_their_owner(self, service: Service, ada: Person) -> None:
        created = await create(service, ada)

        await execute(service, 'DELETE FROM "user"')

        assert not await authenticates(service, created["client_id"], created["client_secret"])


@pytest.mark.parametrize("setting", ["oauth.client_management", "oauth.registration"])
async def test_it_is_off_until_it_is_switched_on(make_service: MakeService, setting: str) -> None:
    service = await make_service({setting: "off"})
    path = "/oauth2/register" if setting == "oauth.registration" else "/oauth2/create-client"

    assert (await service.post(path, SHOP)).status_code == 404


async def register(service: Service, token: str | None = None, **members: Any) -> httpx.Response:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return await service.post("/oauth2/register", {**SHOP, **members}, headers=headers)


class TestRegistration:
    @pytest.mark.operation("oauth_clients.register")
    async def test_a_client_registers_itself_by_a_token(self, service: Service) -> None:
        answer = await register(service, await initial_token(service))

        client = answer.json()
        assert (answer.status_code, client["source"], client["client_secret_expires_at"]) == (
            201,
            "dynamic",
            0,
        )
        assert "registration_access_token" not in client
        assert await authenticates(service, client["client_id"], client["client_secret"])
        [event] = await of_event(service, "oauth_client.registered")
        assert event.details == {"client": client["client_id"], "token": "ci"}

    @pytest.mark.threat("O13")
    async def test_without_a_token_it_is_refused(self, service: Service) -> None:
        token = await initial_token(service)
        for sent in (None, "", "gwi_unknown", token[:-1], token + "x"):
            refused = await register(service, sent)
            assert (refused.status_code, refused.json()["error"]) == (401, "invalid_token")
            assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'

    @pytest.mark.threat("O13")
    async def test_a_token_has_a_number_of_uses_and_an_end(self, service: Service) -> None:
        token = await initial_token(service, uses=2)

        assert (await register(service, token, client_name="")).status_code == 400
        assert [(await register(service, token)).status_code for _ in range(3)] == [201, 201, 401]
        late = await initial_token(service)
        service.clock.advance(hours=1)
        assert (await register(service, late)).status_code == 401

    @pytest.mark.parametrize(
        ("members", "error", "named"),
        [
            ({"client_name": None}, "invalid_client_metadata", "client_name"),
            ({"client_name": 7}, "invalid_client_metadata", "client_name"),
            ({"jwks_uri": "https://169.254.169.254/"}, "invalid_client_metadata", "jwks_uri"),
            ({"redirect_uris": ["http://shop.example/callback"]}, "invalid_redirect_uri", "redirect_uris"),
            ({"redirect_uris": ["https://shop.example/#"]}, "invalid_redirect_uri", "redirect_uris"),
            (
                {"redirect_uris": [f"https://shop.example/{n}" for n in range(1000)]},
                "invalid_redirect_uri",
                "redirect_uris",
            ),
        ],
    )
    @pytest.mark.threat("O1", "O13")
    async def test_metadata_that_cannot_be_used(
        self, service: Service, members: dict[str, Any], error: str, named: str
    ) -> None:
        refused = await register(service, await initial_token(service), **members)

        assert (refused.status_code, refused.json()["error"]) == (400, error)
        assert refused.json()["error_description"].startswith(named)

    @pytest.mark.threat("O13")
    async def test_what_the_operator_decides_is_ignored(self, service: Service) -> None:
        answer = await register(
            service,
            await initial_token(service),
            skip_consent=True,
            session_sign_in=True,
            resource_server=["https://api.shop.example"],
            backchannel_logout_uri="https://169.254.169.254/",
            client_id="app_mine",
            source="cli",
        )

        client = answer.json()
        assert (answer.status_code, client["skip_consent"], client["session_sign_in"]) == (201, False, False)
        assert (client["resource_server"], client["source"]) == ([], "dynamic")
        assert "backchannel_logout_uri" not in client
        assert client["client_id"].startswith("app_")
        assert client["client_id"] != "app_mine"


async def note_use(ctx: Context, *, client_id: str) -> None:
    row = await clients.find(ctx, client_id)
    assert row is not None
    clients.note_use(ctx, row)


class TestOpenRegistration:
    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        return await make_service({"oauth.registration": "open", "oauth.scopes": '{"orders:read": "Orders"}'})

    async def test_anyone_registers_a_client_without_a_secret(self, service: Service) -> None:
        answer = await register(service, grant_types=["authorization_code", "refresh_token"])

        client = answer.json()
        assert answer.status_code == 201
        assert "client_secret" not in client
        assert client["token_endpoint_auth_method"] == "none"
        assert client["scope"] == "openid profile email offline_access"

    @pytest.mark.parametrize(
        ("members", "named"),
        [
            ({"token_endpoint_auth_method": "client_secret_basic"}, "token_endpoint_auth_method"),
            ({"token_endpoint_auth_method": "private_key_jwt"}, "token_endpoint_auth_method"),
            ({"grant_types": ["authorization_code", "client_credentials"]}, "grant_types"),
            ({"grant_types": ["urn:ietf:params:oauth:grant-type:device_code"]}, "grant_types"),
            ({"grant_types": [["authorization_code"]]}, "grant_types"),
            ({"scope": "openid unknown:scope", "client_name": ""}, "client_name"),
        ],
    )
    @pytest.mark.threat("O13")
    async def test_what_it_may_not_be(self, service: Service, members: dict[str, Any], named: str) -> None:
        refused = await register(service, **members)

        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client_metadata")
        assert refused.json()["error_description"].startswith(named)

    async def test_it_gets_the_resources_of_the_service(self, make_service: MakeService) -> None:
        service = await make_service({**RESOURCES, "oauth.registration": "open"})

        unnamed = (await register(service)).json()
        named = (await register(service, resources=[API], scope="openid read list")).json()

        assert unnamed["resources"] == [API, FILES]
        assert unnamed["scope"] == "openid profile email read write list"
        assert (named["resources"], named["scope"]) == ([API], "openid read")

    @pytest.mark.threat("O13")
    async def test_scopes_of_no_resource_are_left_out(self, service: Service) -> None:
        answer = await register(
            service, scope="openid orders:read", client_credentials_scopes=["orders:read"]
        )

        assert (answer.json()["scope"], answer.json()["client_credentials_scopes"]) == ("openid", [])

    @pytest.mark.threat("O13")
    async def test_a_network_registers_ten_an_hour(self, service: Service) -> None:
        answers = [(await register(service)).status_code for _ in range(11)]

        assert answers == [201] * 10 + [429]
        refused = await register(service)
        assert refused.json()["error"] == "temporarily_unavailable"
        assert int(refused.headers["retry-after"]) > 0
        service.clock.advance(hours=1)
        assert (await register(service)).status_code == 201

    @pytest.mark.threat("O13")
    async def test_an_unused_client_is_deleted(self, service: Service) -> None:
        client = (await register(service)).json()
        used = (await register(service)).json()
        await service.services.unit_of_work.run(partial(note_use, client_id=used["client_id"]))

        await cleanup.delete_expired(service.services.database, START + timedelta(days=30, seconds=1))

        assert client["client_id"] != used["client_id"]
        assert await service.rows("SELECT client_id FROM oauth_client") == [(used["client_id"],)]


SECRET = "s" * 40
CONFIGURED = {
    "oauth.clients": json.dumps(
        {
            "shop": {**SHOP, "secret": SECRET, "skip_consent": True},
            "tv": {
                "client_name": "Television",
                "grant_types": ["urn:ietf:params:oauth:grant-type:device_code"],
                "token_endpoint_auth_method": "none",
            },
        }
    )
}


class TestConfiguration:
    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        return await make_service({**CONFIGURED, "limits.enabled": "false"})

    @pytest.mark.both_databases
    async def test_the_table_follows_it(self, service: Service, admin: Person) -> None:
        foreign = await add_client(service)
        # Two instances that start at once.
        await asyncio.gather(start(service), start(service))

        shop = (await get(service, admin, "shop")).json()
        assert (shop["source"], shop["skip_consent"], shop["scope"]) == (
            "config",
            True,
            "openid profile email",
        )
        assert {*await listed(service, admin)} == {"shop", "tv", foreign.client_id}
        assert await authenticates(service, "shop", SECRET)
        events = len(await of_event(service, "oauth_client.created"))
        service.clock.advance(seconds=1)
        await start(service)
        assert (await get(service, admin, "shop")).json() == shop
        assert len(await of_event(service, "oauth_client.created")) == events == 2

        # Something else is configured.
        await execute(service, "UPDATE oauth_client SET source = 'config' WHERE client_name = 'Shop'")
        await execute(
            service,
            "UPDATE oauth_client SET secret = :digest, registration = replace(registration, 'Shop', 'Old')"
            " WHERE client_id = 'shop'",
            digest=tokens.digest("o" * 40),
        )
        await start(service)

        assert {*await listed(service, admin)} == {"shop", "tv"}
        assert (await get(service, admin, "shop")).json()["client_name"] == "Shop"
        assert await authenticates(service, "shop", SECRET)
        assert await authenticates(service, "shop", "o" * 40)
        service.clock.advance(hours=24)
        assert not await authenticates(service, "shop", "o" * 40)

    async def test_it_replaces_a_client_with_its_id(self, service: Service, admin: Person) -> None:
        other = await add_client(service)
        await execute(service, "UPDATE oauth_client SET client_id = 'shop'")

        await start(service)

        assert other.secret is not None
        assert not await authenticates(service, "shop", other.secret)
        assert await authenticates(service, "shop", SECRET)

    @pytest.mark.threat("O14")
    async def test_its_secrets_are_not_among_the_settings_that_are_shown(
        self, service: Service, admin: Person
    ) -> None:
        await start(service)

        shown = await service.get("/admin/list-settings", headers=admin.headers)

        assert shown.status_code == 200
        assert SECRET not in shown.text

    @pytest.mark.parametrize(
        ("members", "complaint"),
        [
            ({"redirect_uris": ["http://shop.example/"]}, "oauth.clients.shop.redirect_uris: has an entry"),
            ({"redirect_uris": []}, "oauth.clients.shop.redirect_uris: must have an entry"),
            ({"scope": "unknown"}, "oauth.clients.shop.scope: has a scope"),
            ({"secret": "short"}, "oauth.clients.shop.secret: must have 32"),
            ({"secret": None}, "oauth.clients.shop: needs either secret or secret_file"),
            ({"token_endpoint_auth_method": "none"}, "oauth.clients.shop: has a secret"),
            (
                {"token_endpoint_auth_method": "private_key_jwt", "secret": None},
                "oauth.clients.shop.jwks: must have 1 to 5 keys",
            ),
            (
                {"backchannel_logout_uri": "https://user@shop.example/"},
                "oauth.clients.shop.backchannel_logout_uri",
            ),
        ],
    )
    @pytest.mark.threat("O1")
    async def test_what_it_may_not_be(
        self, make_service: MakeService, members: dict[str, Any], complaint: str
    ) -> None:
        client = {
            name: value for name, value in {**SHOP, "secret": SECRET, **members}.items() if value is not None
        }

        with pytest.raises(ConfigurationError, match=re.escape(complaint)):
            await make_service({"oauth.clients": json.dumps({"shop": client})})

    @pytest.mark.threat("O24")
    async def test_its_id_is_no_audience_of_session_tokens(self, make_service: MakeService) -> None:
        clients = json.dumps({"shop": {**SHOP, "secret": SECRET}})

        with pytest.raises(
            ConfigurationError, match=re.escape("oauth.clients.shop: is one of jwt.audiences")
        ):
            await make_service({"oauth.clients": clients, "jwt.audiences": '["https://api.example", "shop"]'})


async def start(service: Service) -> None:
    """Do what a start of the service does."""
    [component] = [one for one in service.services.components if isinstance(one, OAuthClients)]
    await component.start()


class TestEffects:
    """What becomes of codes and tokens of a client that is changed."""

    @pytest.fixture
    async def ada(self, service: Service) -> Headers:
        return await join(service)

    @pytest.mark.threat("O16")
    async def test_codes_that_were_sent_to_a_removed_redirect_uri_end(
        self, service: Service, admin: Person, ada: Headers
    ) -> None:
        kept, removed = "http://127.0.0.1/a", "http://127.0.0.1/b"
        client = await add_client(
            service,
            application_type="native",
            redirect_uris=[kept, removed],
            grant_types=["authorization_code", "refresh_token"],
        )
        codes = [
            await add_code(service, client, ada, redirect_uri=f"http://127.0.0.1:9999/{path}")
            for path in "ab"
        ]
        body = {"client_id": client.client_id, "update": {"redirect_uris": [kept]}}
        assert (await post(service, admin, "update-client", body)).status_code == 200

        answers = [await redeem(service, client, one) for one in codes]

        assert [error(answer) for answer in answers] == ["200", "400 invalid_grant"]

    @pytest.mark.both_databases
    @pytest.mark.threat("O16")
    async def test_grants_tokens_and_codes_of_a_disabled_client_end_for_good(
        self, service: Service, admin: Person, ada: Headers
    ) -> None:
        client = await add_client(
            service,
            grant_types=["authorization_code", "refresh_token", "client_credentials"],
            scope="openid offline_access",
        )
        code = await add_code(service, client, ada)
        issued = await first_tokens(service, client, ada)
        for is_disabled in (True, False):
            body = {"client_id": client.client_id, "update": {"disabled": is_disabled}}
            assert (await post(service, admin, "update-client", body)).status_code == 200

        assert error(await redeem(service, client, code)) == "400 invalid_grant"
        assert error(await refresh(service, client, issued["refresh_token"])) == "400 invalid_grant"
        for table in ("oauth_code", "oauth_grant", "oauth_token"):
            assert await service.rows(f"SELECT client_id FROM {table}") == [], table

    @pytest.mark.both_databases
    @pytest.mark.threat("O16")
    async def test_everything_of_a_deleted_client_goes(
        self, service: Service, admin: Person, ada: Headers
    ) -> None:
        client = await add_client(
            service, grant_types=["authorization_code", "refresh_token"], scope="openid offline_access"
        )
        issued = await first_tokens(service, client, ada)

        await post(service, admin, "delete-client", {"client_id": client.client_id})

        refused = await refresh(service, client, issued["refresh_token"])
        assert error(refused) == "401 invalid_client"
        assert await service.rows("SELECT id FROM oauth_grant") == []
