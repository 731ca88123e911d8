"""Rows ADM1 to ADM26, as far as tests/handlers/test_admin.py and test_impersonation.py do not show them."""

import asyncio
import json
from datetime import timedelta

import pytest
from sqlalchemy import text

from codegen.walk import Operation
from server.components import cleanup
from tests.conftest import MakeService
from tests.contract.reading import JSON_OPERATIONS, bodies
from tests.handlers.people import Person, add_person
from tests.handlers.steps import (
    bearer,
    code,
    execute,
    reset_token,
    set_user,
    sign_in,
    works,
)
from tests.security.conftest import OpenInstance
from tests.service import BASE_URL, PASSWORD, Service

ADMIN = "admin@example.com"


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator."""
    return await add_person(service, "admin")


@pytest.fixture
async def user(service: Service) -> Person:
    """A user without any power."""
    return await add_person(service)


class TestLastAdministrator:
    @pytest.mark.both_databases
    @pytest.mark.threat("ADM13")
    @pytest.mark.parametrize("name", ["set-role", "ban-user", "remove-user"])
    async def test_of_two_that_act_on_each_other_at_once_one_stays(self, service: Service, name: str) -> None:
        for turn in range(5):
            people = [await add_person(service, "admin", f"{letter}{turn}@example.com") for letter in "ab"]

            answers = await asyncio.gather(
                *(
                    service.post(f"/admin/{name}", {"userId": other.id, "role": "user"}, headers=one.headers)
                    for one, other in zip(people, reversed(people), strict=True)
                )
            )

            left = await service.rows("SELECT id FROM \"user\" WHERE role = 'admin' AND NOT banned")
            assert len(left) == 1, [answer.text for answer in answers]
            assert sorted(answer.status_code for answer in answers)[0] == 200
            await execute(service, "UPDATE \"user\" SET role = 'user'")


@pytest.mark.both_databases
class TestRaces:
    async def test_of_many_who_create_one_address_one_succeeds(self, service: Service, admin: Person) -> None:
        body = {"email": "new@example.com", "name": "New", "password": PASSWORD}

        answers = await asyncio.gather(
            *(service.post("/admin/create-user", body, headers=admin.headers) for _ in range(20))
        )

        taken = "400 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
        assert sorted(code(answer) for answer in answers) == ["200", *[taken] * 19]
        assert len(await service.rows("SELECT id FROM account")) == 2

    async def test_of_many_roles_one_is_left_whole(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        wanted = ["user", "admin", "user,admin", "admin,user"] * 5

        answers = await asyncio.gather(
            *(
                service.post("/admin/set-role", {"userId": user.id, "role": role}, headers=admin.headers)
                for role in wanted
            )
        )

        assert {answer.status_code for answer in answers} == {200}
        [(role,)] = await service.rows('SELECT role FROM "user" WHERE id = :id', id=user.id)
        assert role in wanted

    @pytest.mark.threat("ADM12")
    async def test_no_session_is_left_when_users_sign_in_while_they_are_banned(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        answers = await asyncio.gather(
            *(
                service.post("/admin/ban-user", {"userId": user.id}, headers=admin.headers)
                if number % 2
                else sign_in(service, user.email)
                for number in range(40)
            )
        )

        assert {answer.status_code for answer in answers[1::2]} == {200}
        assert {answer.status_code for answer in answers[::2]} <= {200, 403}
        assert await service.rows("SELECT id FROM session WHERE user_id = :id", id=user.id) == []
        assert code(await sign_in(service, user.email)) == "403 BANNED_USER"


class TestSearch:
    @pytest.mark.threat("ADM16")
    async def test_a_search_that_reads_too_much_is_refused(self, open_instance: OpenInstance) -> None:
        service = await open_instance({"admin.scan_timeout": "1s"})
        headers = (await add_person(service, "admin")).headers
        for after in range(0, 90_000, 5_000):
            await execute(
                service,
                'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at,'
                " updated_at) WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)"
                " SELECT substr('00000000000000000000000000000000' || i, length('' || i) + 1),"
                " repeated.name, 'u' || i || '@example.com', false, false, 'user', false, u.created_at,"
                ' u.updated_at FROM n, "user" u, (SELECT :name AS name) repeated WHERE u.email = :email',
                first=after + 1,
                last=after + 5_000,
                name="%a" * 128,
                email=ADMIN,
            )
        query = {"searchField": "name", "searchValue": "%a" * 100 + "b"}
        others = [
            ("/get-session", {}),
            ("/admin/list-users", {"limit": 1}),
            ("/admin/list-audit-events", {"group": "user"}),
        ]
        for path, params in others:
            # A first statement is compiled and planned within the time limit, of which a busy machine leaves little.
            await service.get(path, headers=headers, params=params)

        answers = await asyncio.gather(
            *(service.get("/admin/list-users", headers=headers, params=query) for _ in range(5)),
            *(service.get(path, headers=headers, params=params) for path, params in others),
        )

        assert {code(one) for one in answers[:5]} == {"400 SEARCH_TOO_BROAD"}
        assert [one.status_code for one in answers[5:]] == [200, 200, 200]
        narrow = {"searchValue": "u77", "searchOperator": "starts_with", "limit": 1}
        usual = await open_instance()
        assert (await usual.get("/admin/list-users", headers=headers, params=narrow)).status_code == 200


OF_THE_SERVICE = ("list-audit-events", "get-audit-event?id=x", "export-audit-events", "get-statistics")
"""The operations that need the permission `service: manage`."""


class TestService:
    """What the whole service did is for callers with `service: manage`."""

    @pytest.mark.threat("ADM24")
    @pytest.mark.parametrize("name", OF_THE_SERVICE)
    async def test_it_is_refused_to_everybody_else(self, make_service: MakeService, name: str) -> None:
        support = {"user": ["list", "get", "ban", "set-role"], "session": ["list"], "apiKey": ["manage"]}
        service = await make_service(
            {"api_keys.sessions": "true", "admin.roles": json.dumps({"support": support})}
        )
        admin = await add_person(service, "admin")
        created = await service.post("/api-key/create", {"name": "ci"}, headers=admin.headers)
        by_key = {"x-api-key": created.json()["key"]}
        assert (await service.get("/get-session", headers=by_key)).json()["user"]["id"] == admin.id

        answers = {
            "nobody": await service.get(f"/admin/{name}"),
            "key": await service.get(f"/admin/{name}", headers=by_key),
            "key as a token": await service.get(f"/admin/{name}", headers=bearer(by_key["x-api-key"])),
        }
        for role in ("user", "support"):
            person = await add_person(service, role)
            answers[role] = await service.get(f"/admin/{name}", headers=person.headers)

        assert {who: code(answer) for who, answer in answers.items()} == {
            **dict.fromkeys(("nobody", "key", "key as a token"), "401 UNAUTHORIZED"),
            **dict.fromkeys(("user", "support"), "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"),
        }
        refused = await service.get(f"/admin/{name}", headers=admin.headers)
        assert refused.status_code in (200, 404)

    @pytest.mark.threat("ADM16")
    async def test_a_search_of_events_that_waits_too_long_for_another_is_refused(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"admin.scan_timeout": "1s"})
        headers = (await add_person(service, "admin")).headers
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        search = service.services.database.search([text(endless)], timedelta(seconds=20), is_scan=True)
        other = asyncio.create_task(search)

        codes = ""
        while codes in ("", "200"):
            query = {"network": "10.0.0.0/8", "outcome": "success"}
            codes = code(await service.get("/admin/list-audit-events", headers=headers, params=query))
        by_index = await service.get("/admin/list-audit-events", headers=headers, params={"group": "user"})
        other.cancel()

        assert (codes, by_index.status_code) == ("400 SEARCH_TOO_BROAD", 200)
        await asyncio.gather(other, return_exceptions=True)


class TestDoors:
    @pytest.mark.threat("ADM20")
    @pytest.mark.parametrize(
        "path",
        ["//admin/get-user", "/admin/get-user/", "/ADMIN/get-user", "/admin/Get-User", "/admin/../admin"],
    )
    async def test_other_spellings_of_a_path_lead_nowhere(
        self, service: Service, admin: Person, path: str
    ) -> None:
        answer = await service.get(BASE_URL + path, headers=admin.headers, params={"id": admin.id})

        assert answer.status_code == 404

    @pytest.mark.threat("ADM20")
    async def test_nothing_exists_while_it_is_off(self, make_service: MakeService) -> None:
        service = await make_service({"admin.enabled": "false"})

        answers = [
            await service.client.request(operation.method, operation.path) for operation in ADMINISTRATION
        ]

        assert {answer.status_code for answer in answers} == {404}

    @pytest.mark.threat("ADM21")
    async def test_pages_of_other_sites_do_not_administer(self, service: Service, admin: Person) -> None:
        cookie = {"Cookie": f"service.session-token={admin.token}"}
        body = {"userId": admin.id, "role": "user"}

        foreign = await service.post(
            "/admin/set-role", body, headers={**cookie, "Origin": "https://evil.test"}
        )
        form = await service.client.post("/admin/set-role", data=body, headers={**cookie, "Origin": BASE_URL})

        assert (code(foreign), form.status_code) == ("403 INVALID_ORIGIN", 415)

    @pytest.mark.threat("ADM23")
    async def test_marks_of_control_are_refused(self, service: Service, admin: Person) -> None:
        for value in ("a\r\nb", "\u202eb", "\u2066"):
            for path, body in (
                ("ban-user", {"userId": "x", "banReason": value}),
                ("create-user", {"email": "n@example.com", "name": value}),
                ("update-user", {"userId": "x", "data": {"banReason": value}}),
            ):
                answer = await service.post(f"/admin/{path}", body, headers=admin.headers)
                assert code(answer) == "400 VALIDATION_ERROR", (path, value)

    @pytest.mark.threat("ADM12")
    async def test_a_banned_user_gets_in_by_no_way(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        await set_user(service, user.email, email_verified=True)
        enabled = {"password": PASSWORD, "method": "otp"}
        await service.post("/two-factor/enable", enabled, headers=user.headers)
        pending = (await sign_in(service, user.email)).json()["token"]
        reset = await reset_token(service, user.email)

        await service.post("/admin/ban-user", {"userId": user.id}, headers=admin.headers)

        service.client.cookies.clear()
        sent = await service.post("/two-factor/send-otp", headers=bearer(pending))
        assert (sent.status_code, await works(service, user.headers)) == (401, False)
        new = "another good password"
        answer = await service.post("/reset-password", {"token": reset, "newPassword": new})
        assert answer.status_code == 200
        assert code(await sign_in(service, user.email, new)) == "403 BANNED_USER"


LASTING = {
    "/change-password", "/verify-password", "/change-email", "/delete-user", "/delete-user/callback", "/link-social",
    "/unlink-account", "/get-access-token", "/refresh-token", "/account-info", "/revoke-session", "/revoke-sessions",
    "/revoke-other-sessions", "/two-factor/enable", "/two-factor/disable", "/two-factor/get-totp-uri",
    "/two-factor/verify-totp", "/two-factor/send-otp", "/two-factor/verify-otp", "/two-factor/verify-backup-code",
    "/two-factor/generate-backup-codes", "/api-key/create", "/api-key/update", "/api-key/delete",
}  # fmt: skip
"""Operations that could leave something behind."""

ADMINISTRATION = [
    operation
    for operation in JSON_OPERATIONS.values()
    if operation.path.startswith("/admin/")
    and operation.path not in ("/admin/has-permission", "/admin/stop-impersonating")
]


class TestImpersonation:
    """Sessions of administrators in the name of users."""

    async def impersonate(self, service: Service, admin: Person, user: Person) -> str:
        """Return the token of a session in the name of a user."""
        answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=admin.headers)
        assert answer.status_code == 200, answer.text
        service.client.cookies.clear()
        return str(answer.json()["session"]["token"])

    async def ask(self, service: Service, operation: Operation, token: str) -> str:
        """Return the code with which an operation refuses a token, with the body of its example."""
        body = {
            name: value
            for content in bodies(operation).values()
            for name, value in content["example"].items()
        }
        answer = await service.client.request(
            operation.method,
            operation.path,
            params={"id": "x", "token": "x" * 32, "providerId": "test"}
            if operation.method == "get"
            else None,
            json=body if operation.method == "post" else None,
            headers=bearer(token),
        )
        return code(answer)

    @pytest.mark.threat("ADM5", "ADM8")
    async def test_nothing_lasting_and_no_administration(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        token = await self.impersonate(service, admin, user)
        lasting = [operation for operation in JSON_OPERATIONS.values() if operation.path in LASTING]

        refused = {
            operation.path: await self.ask(service, operation, token)
            for operation in (*lasting, *ADMINISTRATION)
        }

        assert set(refused.values()) == {"403 NOT_ALLOWED_WHILE_IMPERSONATING"}, refused
        assert refused.keys() >= LASTING
        assert len(ADMINISTRATION) >= 48
        assert await service.rows("SELECT id FROM api_key") == []
        for allowed in ("/get-session", "/list-sessions", "/list-accounts", "/api-key/list", "/token"):
            assert (await service.get(allowed, headers=bearer(token))).status_code == 200

    @pytest.mark.threat("ADM8")
    async def test_the_settings_lift_the_list_but_for_administration(self, make_service: MakeService) -> None:
        service = await make_service({"admin.impersonation.restricted": "false"})
        token = await self.impersonate(service, await add_person(service, "admin"), await add_person(service))

        assert (await service.post("/api-key/create", {}, headers=bearer(token))).status_code == 200
        refused = {await self.ask(service, operation, token) for operation in ADMINISTRATION}
        assert refused == {"403 NOT_ALLOWED_WHILE_IMPERSONATING"}

    @pytest.mark.threat("ADM7", "ADM12")
    async def test_it_ends_on_every_instance(self, open_instance: OpenInstance) -> None:
        instances = [await open_instance(), await open_instance()]
        service = instances[0]
        root = await add_person(service, "admin", "root@example.com")
        for number, (name, whose) in enumerate(
            (
                ("ban-user", "admin"),
                ("remove-user", "admin"),
                ("revoke-user-sessions", "admin"),
                ("set-role", "admin"),
                ("ban-user", "user"),
            )
        ):
            admin, user = [
                await add_person(service, role, f"{role}{number}@example.com") for role in ("admin", "user")
            ]
            token = await self.impersonate(service, admin, user)
            body = {"userId": admin.id if whose == "admin" else user.id, "role": "user"}

            answer = await service.post(f"/admin/{name}", body, headers=root.headers)

            assert answer.status_code == 200, answer.text
            assert [await works(each, bearer(token)) for each in reversed(instances)] == [False, False], name
            assert await service.rows("SELECT id FROM session WHERE impersonated_by IS NOT NULL") == []

    @pytest.mark.threat("ADM9")
    async def test_the_sessions_of_the_user_are_handles(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        token = await self.impersonate(service, admin, user)

        listed = (await service.get("/list-sessions", headers=bearer(token))).json()

        others = [session["token"] for session in listed if session["token"] != token]
        assert {other[:4] for other in others} == {"rvk_"}
        assert not any([await works(service, bearer(other)) for other in others])
        mine = (await service.get("/list-sessions", headers=user.headers)).json()
        assert token not in {session["token"] for session in mine}
        assert [session.get("impersonatedBy") is not None for session in mine].count(True) == 1

    @pytest.mark.threat("ADM11")
    async def test_the_administrators_cookie_opens_nothing_and_fits_one_session(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        other = await add_person(service, "admin", "other@example.com")
        for operation in JSON_OPERATIONS.values():
            if operation.spec.get("security") is None:
                cookie = {"Cookie": f"service.admin-session={admin.token}", "Origin": BASE_URL}
                answer = await service.client.request(operation.method, operation.path, headers=cookie)
                assert (operation.path, answer.status_code) == (operation.path, 401)
        for wrong in (other.token, user.token, "x" * 32, "", 'forged"\\'):
            token = await self.impersonate(service, admin, user)
            cookies = {**bearer(token), "Cookie": f"service.admin-session={wrong}", "Origin": BASE_URL}
            stopped = await service.post("/admin/stop-impersonating", {}, headers=cookies)
            assert (stopped.status_code, stopped.json()) == (200, {"session": None, "user": None})
            assert "set-auth-token" not in stopped.headers
            service.client.cookies.clear()

    @pytest.mark.both_databases
    async def test_of_many_who_stop_one_comes_back(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        token = await self.impersonate(service, admin, user)
        cookies = {
            "Cookie": f"service.session-token={token}; service.admin-session={admin.token}",
            "Origin": BASE_URL,
        }

        answers = await asyncio.gather(
            *(service.post("/admin/stop-impersonating", {}, headers=cookies) for _ in range(20))
        )

        restored = [answer.json()["session"]["token"] for answer in answers if answer.status_code == 200]
        assert restored == [admin.token]
        assert {answer.status_code for answer in answers} == {200, 401}

    @pytest.mark.both_databases
    @pytest.mark.threat("ADM7")
    async def test_none_is_left_when_the_administrator_signs_out_meanwhile(
        self, service: Service, user: Person
    ) -> None:
        body = {"userId": user.id}
        for number in range(5):
            admin = await add_person(service, "admin", f"admin{number}@example.com")
            started, _ = await asyncio.gather(
                service.post("/admin/impersonate-user", body, headers=admin.headers),
                service.post("/revoke-sessions", {}, headers=admin.headers),
            )
            assert started.status_code in (200, 401)
            if started.status_code == 200:
                assert not await works(service, bearer(started.json()["session"]["token"]))
        assert await service.rows("SELECT id FROM session WHERE impersonated_by IS NOT NULL") == []

    async def test_the_clean_up_of_the_administrators_session_takes_it_along(
        self, service: Service, admin: Person, user: Person
    ) -> None:
        await self.impersonate(service, admin, user)
        await execute(service, "UPDATE session SET expires_at = created_at WHERE impersonated_by IS NULL")

        await cleanup.delete_expired(service.services.database, service.clock())

        assert await service.rows("SELECT id FROM session") == []
