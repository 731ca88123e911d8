"""The operations of openapi/paths/admin_oauth_clients.yaml."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from models.oauth_client import ClientSource
from tests.conftest import MakeService
from tests.handlers.people import Person, add_person
from tests.handlers.steps import ADA, EVE, code, execute
from tests.handlers.test_oauth_consents import allow
from tests.oauth import add_client
from tests.oauth_codes import EVERYTHING, add_code, error, first_tokens, redeem, refresh
from tests.oauth_codes import SETTINGS as RESOURCES
from tests.service import Service
from tests.trail import of_event

CLIENTS, GRANTS = "/admin/list-oauth-clients", "/admin/list-oauth-grants"
CONNECTIONS, END = "/admin/list-oauth-connections", "/admin/end-oauth-grants"
ROLES = '{"support": {"session": ["list", "revoke"]}, "reader": {"user": ["list", "get"]}}'


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**RESOURCES, "limits.enabled": "false", "admin.roles": ROLES})


@pytest.fixture
async def root(service: Service) -> Person:
    return await add_person(service, "admin", "root@example.com")


@pytest.fixture
async def ada(service: Service) -> Person:
    return await add_person(service, email=ADA)


async def get(service: Service, by: Person, path: str, **query: Any) -> Any:
    answer = await service.get(path, params=query, headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def end(service: Service, by: Person, **body: Any) -> httpx.Response:
    return await service.post(END, body, headers=by.headers)


def names(page: Any) -> list[str]:
    return [one["client"]["client_name"] for one in page["clients"]]


@pytest.mark.operation("admin_oauth_clients.list_clients")
class TestClients:
    async def test_they_are_listed_with_their_use(self, service: Service, root: Person, ada: Person) -> None:
        first = await add_client(service, client_name="First", **EVERYTHING)
        service.clock.advance(minutes=1)
        await add_client(service, client_name="Second", source=ClientSource.DYNAMIC)
        await first_tokens(service, first, ada.headers)
        await first_tokens(service, first, ada.headers)

        page = await get(service, root, CLIENTS)

        assert (names(page), page["total"], page["nextCursor"]) == (["Second", "First"], 2, None)
        second, shown = page["clients"]
        assert (second["verified"], second["lastUsedOn"], second["grantCount"]) == (False, None, 0)
        today = service.clock.now.date().isoformat()
        assert (shown["verified"], shown["lastUsedOn"], shown["grantCount"]) == (True, today, 2)
        assert shown["client"]["client_id"] == first.client_id

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"search": "HOP"}, ["Shop"]),
            ({"search": "till.example"}, ["Till"]),
            ({"search": "example"}, []),
            ({"search": "%"}, []),
            ({"search": "openid"}, []),
            ({"source": "dynamic"}, ["Till"]),
            ({"disabled": "true"}, ["Shop"]),
            ({"disabled": "false", "source": "cli"}, ["Forum"]),
        ],
    )
    @pytest.mark.both_databases
    async def test_it_filters(
        self, service: Service, root: Person, query: dict[str, str], expected: list[str]
    ) -> None:
        await add_client(service, client_name="Shop")
        await add_client(service, client_name="Forum")
        uris = ["https://till.example/callback"]
        await add_client(service, client_name="Till", redirect_uris=uris, source=ClientSource.DYNAMIC)
        await execute(service, "UPDATE oauth_client SET disabled_at = created_at WHERE client_name = 'Shop'")

        assert names(await get(service, root, CLIENTS, **query)) == expected

    async def test_it_finds_a_client_by_its_id(self, service: Service, root: Person) -> None:
        client = await add_client(service)
        await add_client(service, client_name="Other")

        assert names(await get(service, root, CLIENTS, search=client.client_id)) == ["Shop"]

    async def test_pages_follow_each_other(self, service: Service, root: Person) -> None:
        for number in range(5):
            await add_client(service, client_name=f"Client {number}")
        seen: list[str] = []
        cursor: dict[str, str] = {}
        for _ in range(3):
            page = await get(service, root, CLIENTS, limit=2, **cursor)
            seen += names(page)
            cursor = {"cursor": page["nextCursor"]}

        assert sorted(seen) == [f"Client {number}" for number in range(5)]
        assert (page["nextCursor"], page["total"]) == (None, 5)


@pytest.mark.operation("admin_oauth_clients.list_grants")
class TestGrants:
    async def test_live_grants_are_listed(self, service: Service, root: Person, ada: Person) -> None:
        client = await add_client(service, **EVERYTHING)
        other = await add_client(service, client_name="Other", **EVERYTHING)
        await first_tokens(service, client, ada.headers, "openid email offline_access")
        await first_tokens(service, other, root.headers)

        for query in ({"clientId": client.client_id}, {"userId": ada.id}):
            page = await get(service, root, GRANTS, **query)
            [grant] = page["grants"]
            assert page["nextCursor"] is None
            assert (grant["clientId"], grant["clientName"], grant["userId"]) == (
                client.client_id,
                "Shop",
                ada.id,
            )
            assert (grant["scopes"], grant["offline"]) == (["openid", "email", "offline_access"], True)
        both = {"clientId": client.client_id, "userId": root.id}
        assert (await get(service, root, GRANTS, **both))["grants"] == []

    async def test_those_that_have_ended_are_left_out(
        self, service: Service, root: Person, ada: Person
    ) -> None:
        client = await add_client(service, **EVERYTHING)
        await first_tokens(service, client, ada.headers, "openid")
        await first_tokens(service, client, ada.headers)
        await service.post("/sign-out", headers=ada.headers)

        listed = (await get(service, root, GRANTS, userId=ada.id))["grants"]
        assert [one["offline"] for one in listed] == [True]
        await execute(service, "UPDATE oauth_grant SET revoked_at = created_at")
        assert (await get(service, root, GRANTS, userId=ada.id))["grants"] == []

    async def test_pages_follow_each_other(self, service: Service, root: Person, ada: Person) -> None:
        client = await add_client(service, **EVERYTHING)
        for _ in range(3):
            await first_tokens(service, client, ada.headers)
        first = await get(service, root, GRANTS, userId=ada.id, limit=2)
        second = await get(service, root, GRANTS, userId=ada.id, limit=2, cursor=first["nextCursor"])

        assert len({one["id"] for one in [*first["grants"], *second["grants"]]}) == 3
        assert second["nextCursor"] is None

    async def test_a_client_or_a_user_is_needed(self, service: Service, root: Person) -> None:
        refused = await service.get(GRANTS, headers=root.headers)

        assert code(refused) == "400 CLIENT_OR_USER_REQUIRED"

    @pytest.mark.parametrize(
        ("query", "expected"),
        [({"clientId": "app_unknown"}, "CLIENT_NOT_FOUND"), ({"userId": "unknown"}, "USER_NOT_FOUND")],
    )
    async def test_unknown_ones(
        self, service: Service, root: Person, query: dict[str, str], expected: str
    ) -> None:
        assert code(await service.get(GRANTS, params=query, headers=root.headers)) == f"404 {expected}"
        assert code(await end(service, root, **query)) == f"404 {expected}"


@pytest.mark.operation("admin_oauth_clients.list_connections")
async def test_connected_applications_of_a_user(service: Service, root: Person, ada: Person) -> None:
    consent = await allow(
        service, ada.headers, scopes="openid email", scope="openid email", source=ClientSource.DYNAMIC
    )
    await execute(service, "DELETE FROM oauth_grant")
    first_party = await add_client(service, client_name="Forum", **EVERYTHING)
    await first_tokens(service, first_party, ada.headers)

    forum, shop = (await get(service, root, CONNECTIONS, userId=ada.id))["connections"]

    assert (forum["clientId"], forum["consentedAt"], forum["grantCount"]) == (first_party.client_id, None, 1)
    assert (forum["scopes"], forum["verified"]) == (["openid", "offline_access"], True)
    assert (shop["clientId"], shop["grantedAt"], shop["grantCount"]) == (consent.client_id, None, 0)
    assert (shop["scopes"], shop["verified"]) == (["openid", "email"], False)
    assert (await get(service, root, CONNECTIONS, userId=root.id))["connections"] == []


@pytest.mark.operation("admin_oauth_clients.end_grants")
class TestEnd:
    @pytest.mark.both_databases
    @pytest.mark.parametrize("whose", ["client", "user", "both"])
    async def test_tokens_and_codes_end(
        self, service: Service, root: Person, ada: Person, whose: str
    ) -> None:
        client = await add_client(service, **EVERYTHING)
        tokens = await first_tokens(service, client, ada.headers)
        waiting = await add_code(service, client, ada.headers)
        other = await add_client(service, client_name="Other", **EVERYTHING)
        others = await first_tokens(service, other, root.headers)
        named = {"clientId": client.client_id, "userId": ada.id}
        body = {name: value for name, value in named.items() if whose in ("both", name.removesuffix("Id"))}

        answer = await end(service, root, **body)

        assert answer.json() == {"success": True, "count": 1}
        assert error(await refresh(service, client, tokens["refresh_token"])) == "400 invalid_grant"
        assert error(await redeem(service, client, waiting)) == "400 invalid_grant"
        assert error(await refresh(service, other, others["refresh_token"])) == "200"
        [event] = await of_event(service, "oauth_client.grants_revoked")
        assert event.details.get("client") == body.get("clientId")
        assert (event.user_id, event.actor_id) == (body.get("userId", root.id), root.id)

    @pytest.mark.parametrize("whose", ["clientId", "userId"])
    async def test_consents_end_only_if_that_is_wanted(
        self, service: Service, root: Person, ada: Person, whose: str
    ) -> None:
        consent = await allow(service, ada.headers, scopes="openid email", scope="openid email")
        body = {whose: {"clientId": consent.client_id, "userId": ada.id}[whose]}

        await end(service, root, **body)
        assert len(await service.rows("SELECT id FROM oauth_consent")) == 1
        await end(service, root, **body, consents=True)
        assert not await service.rows("SELECT id FROM oauth_consent")

    async def test_the_consent_of_another_user_stays(
        self, service: Service, root: Person, ada: Person
    ) -> None:
        consent = await allow(service, ada.headers, scopes="openid email", scope="openid email")
        both = {"clientId": consent.client_id, "userId": root.id}

        assert (await end(service, root, **both, consents=True)).json()["count"] == 0
        assert len(await service.rows("SELECT id FROM oauth_consent")) == 1
        assert (await end(service, root, **{**both, "userId": ada.id}, consents=True)).json()["count"] == 1
        assert not await service.rows("SELECT id FROM oauth_consent")

    async def test_a_client_or_a_user_is_needed(self, service: Service, root: Person) -> None:
        assert code(await end(service, root, consents=True)) == "400 CLIENT_OR_USER_REQUIRED"


class TestWho:
    @pytest.mark.threat("O14")
    async def test_it_needs_the_permissions(self, service: Service, ada: Person) -> None:
        client = await add_client(service, **EVERYTHING)
        await first_tokens(service, client, ada.headers)
        of_client, of_user = {"clientId": client.client_id}, {"userId": ada.id}
        reader = await add_person(service, "reader")
        support = await add_person(service, "support")

        for person in (ada, reader):
            for path, query in (
                (CLIENTS, {}),
                (GRANTS, of_client),
                (GRANTS, of_user),
                (CONNECTIONS, of_user),
            ):
                refused = await service.get(path, params=query, headers=person.headers)
                assert code(refused) == "403 FORBIDDEN"
            for body in (of_client, of_user, {**of_client, **of_user}):
                assert code(await end(service, person, **body)) == "403 FORBIDDEN"
        # A role for users may end what one of them has granted, and nothing for all users.
        assert code(await end(service, support, **of_client)) == "403 FORBIDDEN"
        assert len((await get(service, support, GRANTS, **of_user))["grants"]) == 1
        assert (await end(service, support, **of_user)).json()["count"] == 1

    @pytest.mark.threat("O14")
    async def test_users_with_more_powers_are_out_of_reach(self, service: Service, root: Person) -> None:
        support = await add_person(service, "support")
        client = await add_client(service, **EVERYTHING)
        await first_tokens(service, client, root.headers)

        for path in (GRANTS, CONNECTIONS):
            refused = await service.get(path, params={"userId": root.id}, headers=support.headers)
            assert code(refused) == "403 FORBIDDEN"
        assert code(await end(service, support, userId=root.id)) == "403 FORBIDDEN"
        assert len(await service.rows("SELECT id FROM oauth_grant")) == 1

    @pytest.mark.threat("O14")
    async def test_ending_those_of_all_users_needs_a_fresh_session(
        self, service: Service, root: Person, ada: Person
    ) -> None:
        client = await add_client(service)
        service.clock.advance(days=2)

        assert code(await end(service, root, clientId=client.client_id)) == "403 SESSION_NOT_FRESH"
        assert (await end(service, root, userId=ada.id)).status_code == 200

    @pytest.mark.parametrize("management", ["off", "users"])
    async def test_it_is_there_whoever_manages_clients(
        self, make_service: MakeService, management: str
    ) -> None:
        service = await make_service({"oauth.client_management": management})
        root = await add_person(service, "admin", EVE)
        client = await add_client(service)

        assert names(await get(service, root, CLIENTS)) == ["Shop"]
        assert (await end(service, root, clientId=client.client_id)).json()["count"] == 0


async def test_a_device_that_waits_for_tokens_gets_none(service: Service, root: Person, ada: Person) -> None:
    client = await add_client(service)
    moment = service.clock.now + timedelta(minutes=5)
    for which in ("a", "b"):
        await execute(
            service,
            "INSERT INTO device_request (device_code, user_code, client_id, scopes, resources, status, user_id,"
            " interval, expires_at, created_at, updated_at)"
            " VALUES (:code, :code, :client, 'openid', '', 'approved', :user, 5, :at, :at, :at)",
            code=which.encode(),
            client=client.client_id,
            user=ada.id,
            at=int(moment.timestamp() * 1000) if service.services.database.dialect == "sqlite" else moment,
        )
        body = {"userId": ada.id} if which == "a" else {"userId": ada.id, "clientId": client.client_id}

        await end(service, root, **body)

        assert not await service.rows("SELECT device_code FROM device_request")
