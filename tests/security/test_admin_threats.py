"""Rows ADM1 to ADM23, as far as tests/handlers/test_admin.py and test_impersonation.py do not show them."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from codegen.walk import Operation
from server.jobs import cleanup
from tests.conftest import Headers, MakeService, SignIn
from tests.contract.reading import JSON_OPERATIONS, bodies
from tests.handlers.steps import bearer, token_in
from tests.security.conftest import OpenInstance
from tests.service import BASE_URL, PASSWORD, Service

ADMIN = "admin@example.com"


@pytest.fixture
async def admin(service: Service, sign_up: SignIn) -> Headers:
    """The session of an administrator."""
    return await administrator(service, sign_up, ADMIN)


async def administrator(service: Service, sign_up: SignIn, email: str) -> Headers:
    headers = await sign_up(email)
    await change(service, "UPDATE \"user\" SET role = 'admin' WHERE email = :email", email=email)
    return headers


async def change(service: Service, statement: str, **values: Any) -> None:
    async with service.services.database.transaction() as db:
        await db.execute(text(statement), **values)


async def id_of(service: Service, headers: Headers) -> str:
    return str((await service.get("/get-session", headers=headers)).json()["user"]["id"])


def code(answer: httpx.Response) -> str:
    return str(answer.json()["code"])


class TestClimbing:
    @pytest.mark.threat("ADM1")
    async def test_no_field_of_a_sign_up_or_an_update_changes_the_standing(
        self, service: Service, sign_up: SignIn
    ) -> None:
        claims = {"role": "admin", "banned": False, "emailVerified": True}
        user = await sign_up("user@example.com", **claims)

        for key, value in claims.items():
            assert code(await service.post("/update-user", {key: value}, headers=user)) == "FIELD_NOT_ALLOWED"

        found = (await service.get("/get-session", headers=user)).json()["user"]
        assert (found["role"], found["emailVerified"]) == ("user", False)

    @pytest.mark.threat("ADM19")
    async def test_addresses_are_not_probed_without_the_permission(
        self, service: Service, sign_up: SignIn
    ) -> None:
        user = await sign_up("user@example.com")
        answers = [
            await service.post("/admin/create-user", {"email": email, "name": "N"}, headers=user)
            for email in ("user@example.com", "free@example.com", "no address")
        ]

        assert {(one.status_code, code(one)) for one in answers} == {
            (403, "YOU_ARE_NOT_ALLOWED_TO_CREATE_USERS")
        }


class TestLastAdministrator:
    @pytest.mark.threat("ADM13")
    @pytest.mark.parametrize("name", ["set-role", "ban-user", "remove-user"])
    async def test_of_two_that_act_on_each_other_at_once_one_stays(
        self, service: Service, sign_up: SignIn, name: str
    ) -> None:
        for turn in range(20):
            people = [
                await administrator(service, sign_up, f"{name}{turn}{letter}@example.com") for letter in "ab"
            ]
            ids = [await id_of(service, person) for person in people]
            await change(
                service, "UPDATE \"user\" SET role = 'user' WHERE id NOT IN (:a, :b)", a=ids[0], b=ids[1]
            )

            answers = await asyncio.gather(
                *(
                    service.post(f"/admin/{name}", {"userId": other, "role": "user"}, headers=person)
                    for person, other in zip(people, reversed(ids), strict=True)
                )
            )

            left = await service.rows("SELECT id FROM \"user\" WHERE role = 'admin' AND NOT banned")
            assert len(left) == 1, [answer.text for answer in answers]
            assert sorted(answer.status_code for answer in answers)[0] == 200


@pytest.mark.both_databases
class TestRaces:
    async def test_of_many_who_create_one_address_one_succeeds(
        self, service: Service, admin: Headers
    ) -> None:
        body = {"email": "new@example.com", "name": "New", "password": PASSWORD}

        answers = await asyncio.gather(
            *(service.post("/admin/create-user", body, headers=admin) for _ in range(20))
        )

        assert sorted(code(one) if one.is_error else "" for one in answers) == [
            "", *["USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"] * 19
        ]  # fmt: skip
        assert len(await service.rows("SELECT id FROM account WHERE user_id IN"
                                      " (SELECT id FROM \"user\" WHERE email = 'new@example.com')")) == 1  # fmt: skip

    async def test_of_many_roles_one_is_left_whole(
        self, service: Service, admin: Headers, sign_up: SignIn
    ) -> None:
        user_id = await id_of(service, await sign_up("user@example.com"))
        wanted = ["user", "admin", "user,admin", "admin,user"] * 5

        answers = await asyncio.gather(
            *(
                service.post("/admin/set-role", {"userId": user_id, "role": role}, headers=admin)
                for role in wanted
            )
        )

        assert {answer.status_code for answer in answers} == {200}
        [(role,)] = await service.rows('SELECT role FROM "user" WHERE id = :id', id=user_id)
        assert role in wanted

    @pytest.mark.threat("ADM12")
    async def test_no_session_is_left_when_users_sign_in_while_they_are_banned(
        self, service: Service, admin: Headers, sign_up: SignIn
    ) -> None:
        user_id = await id_of(service, await sign_up("user@example.com"))
        service.client.cookies.clear()
        credentials = {"email": "user@example.com", "password": PASSWORD}

        answers = await asyncio.gather(
            *(
                service.post("/admin/ban-user", {"userId": user_id}, headers=admin)
                if number % 2
                else service.post("/sign-in/email", credentials)
                for number in range(40)
            )
        )

        assert {answer.status_code for answer in answers[1::2]} == {200}
        assert {answer.status_code for answer in answers[::2]} <= {200, 403}
        assert await service.rows("SELECT id FROM session WHERE user_id = :id", id=user_id) == []
        assert [
            bool(row.banned)
            for row in await service.rows('SELECT banned FROM "user" WHERE id = :id', id=user_id)
        ] == [True]


class TestSearch:
    @pytest.mark.threat("ADM16")
    async def test_a_search_that_reads_too_much_is_refused(
        self, make_service: MakeService, sign_up: SignIn
    ) -> None:
        service = await make_service({"admin.scan_timeout": "0.4s"})
        headers = await administrator(service, lambda email: sign_up(email, on=service), ADMIN)
        await change(
            service,
            'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at,'
            " updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
            " SELECT substr('00000000000000000000000000000000' || i, length('' || i) + 1),"
            " repeated.name, 'u' || i || '@example.com', false, false, 'user', false, u.created_at,"
            ' u.updated_at FROM n, "user" u, (SELECT :name AS name) repeated WHERE u.email = :email',
            name="%a" * 128,
            email=ADMIN,
        )
        query = {"searchField": "name", "searchValue": "%a" * 100 + "b"}

        answers = await asyncio.gather(
            *(service.get("/admin/list-users", headers=headers, params=query) for _ in range(5)),
            service.get("/get-session", headers=headers),
            service.get("/admin/list-users", headers=headers, params={"limit": 1}),
        )

        assert {(one.status_code, code(one)) for one in answers[:5]} == {(400, "SEARCH_TOO_BROAD")}
        assert [one.status_code for one in answers[5:]] == [200, 200]
        narrow = {"searchValue": "u77", "searchOperator": "starts_with", "limit": 1}
        assert (await service.get("/admin/list-users", headers=headers, params=narrow)).status_code == 200


class TestDoors:
    @pytest.mark.threat("ADM20")
    @pytest.mark.parametrize(
        "path",
        ["//admin/get-user", "/admin/get-user/", "/ADMIN/get-user", "/admin/Get-User", "/admin/../admin"],
    )
    async def test_other_spellings_of_a_path_lead_nowhere(
        self, service: Service, admin: Headers, path: str
    ) -> None:
        answer = await service.get(BASE_URL + path, headers=admin, params={"id": await id_of(service, admin)})

        assert answer.status_code == 404

    @pytest.mark.threat("ADM20")
    async def test_nothing_exists_while_it_is_off(self, make_service: MakeService) -> None:
        service = await make_service({"admin.enabled": "false"})

        answers = [
            await service.client.request(operation.method, operation.path) for operation in ADMINISTRATION
        ]

        assert {answer.status_code for answer in answers} == {404}

    @pytest.mark.threat("ADM21")
    async def test_pages_of_other_sites_do_not_administer(self, service: Service, admin: Headers) -> None:
        session = (await service.get("/get-session", headers=admin)).json()["session"]
        cookie = {"Cookie": f"service.session-token={session['token']}"}
        body = {"userId": await id_of(service, admin), "role": "user"}

        foreign = await service.post(
            "/admin/set-role", body, headers={**cookie, "Origin": "https://evil.test"}
        )
        form = await service.client.post(
            "/admin/set-role", data=body, headers={**cookie, "Origin": "http://127.0.0.1:8000"}
        )

        assert (foreign.status_code, code(foreign)) == (403, "INVALID_ORIGIN")
        assert form.status_code == 415

    @pytest.mark.threat("ADM23")
    @pytest.mark.parametrize("value", ["a\r\nb", "\u202eb", "\u2066"])
    async def test_marks_of_control_are_refused(self, service: Service, admin: Headers, value: str) -> None:
        for path, body in (
            ("ban-user", {"userId": "x", "banReason": value}),
            ("create-user", {"email": "n@example.com", "name": value}),
            ("update-user", {"userId": "x", "data": {"banReason": value}}),
        ):
            answer = await service.post(f"/admin/{path}", body, headers=admin)
            assert (answer.status_code, code(answer)) == (400, "VALIDATION_ERROR")

    @pytest.mark.threat("ADM12")
    async def test_a_banned_user_gets_in_by_no_way(
        self, service: Service, admin: Headers, sign_up: SignIn
    ) -> None:
        user = await sign_up("user@example.com")
        user_id = await id_of(service, user)
        await change(service, 'UPDATE "user" SET email_verified = true')
        await service.post("/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=user)
        credentials = {"email": "user@example.com", "password": PASSWORD}
        pending = (await service.post("/sign-in/email", credentials)).json()["token"]
        await service.post("/request-password-reset", {"email": "user@example.com"})
        [mail] = await service.inbox("user@example.com", "reset-password")
        reset = token_in(mail["link"])

        await service.post("/admin/ban-user", {"userId": user_id}, headers=admin)

        service.client.cookies.clear()
        sent = await service.post("/two-factor/send-otp", headers={"Authorization": f"Bearer {pending}"})
        assert sent.status_code == 401
        assert (await service.get("/get-session", headers=user)).status_code == 401
        new = {**credentials, "password": "another good password"}
        assert (
            await service.post("/reset-password", {"token": reset, "newPassword": new["password"]})
        ).is_success
        assert code(await service.post("/sign-in/email", new)) == "BANNED_USER"


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

    @pytest.fixture
    async def user(self, service: Service, sign_up: SignIn) -> Headers:
        return await sign_up("user@example.com")

    async def impersonate(self, service: Service, admin: Headers, user: Headers) -> str:
        body = {"userId": await id_of(service, user)}
        answer = await service.post("/admin/impersonate-user", body, headers=admin)
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
        return "" if answer.is_success else code(answer)

    @pytest.mark.threat("ADM5", "ADM8")
    async def test_nothing_lasting_and_no_administration(
        self, service: Service, admin: Headers, user: Headers
    ) -> None:
        token = await self.impersonate(service, admin, user)
        lasting = [operation for operation in JSON_OPERATIONS.values() if operation.path in LASTING]

        refused = {
            operation.path: await self.ask(service, operation, token)
            for operation in (*lasting, *ADMINISTRATION)
        }

        assert set(refused.values()) == {"NOT_ALLOWED_WHILE_IMPERSONATING"}, refused
        assert refused.keys() >= LASTING
        assert len(ADMINISTRATION) == 14
        assert await service.rows("SELECT id FROM api_key") == []
        for allowed in ("/get-session", "/list-sessions", "/list-accounts", "/api-key/list", "/token"):
            assert (await service.get(allowed, headers=bearer(token))).status_code == 200

    @pytest.mark.threat("ADM8")
    async def test_the_settings_lift_the_list_but_for_administration(
        self, make_service: MakeService, sign_up: SignIn
    ) -> None:
        service = await make_service({"admin.impersonation.restricted": "false"})

        async def signs_up(email: str) -> Headers:
            return await sign_up(email, on=service)

        token = await self.impersonate(
            service, await administrator(service, signs_up, ADMIN), await signs_up("user@example.com")
        )

        assert (await service.post("/api-key/create", {}, headers=bearer(token))).status_code == 200
        refused = {await self.ask(service, operation, token) for operation in ADMINISTRATION}
        assert refused == {"NOT_ALLOWED_WHILE_IMPERSONATING"}

    @pytest.mark.threat("ADM7", "ADM12")
    @pytest.mark.parametrize(
        ("name", "whose"),
        [("ban-user", "admin"), ("remove-user", "admin"), ("revoke-user-sessions", "admin"),
         ("set-role", "admin"), ("ban-user", "user")],
    )  # fmt: skip
    async def test_it_ends_on_every_instance(
        self, open_instance: OpenInstance, sign_up: SignIn, name: str, whose: str
    ) -> None:
        instances = [await open_instance(), await open_instance()]

        async def join(email: str) -> Headers:
            return await sign_up(email, on=instances[0])

        root = await administrator(instances[0], join, "root@example.com")
        admin, user = await administrator(instances[0], join, ADMIN), await join("user@example.com")
        token = await self.impersonate(instances[0], admin, user)
        body = {"userId": await id_of(instances[0], admin if whose == "admin" else user), "role": "user"}

        answer = await instances[0].post(f"/admin/{name}", body, headers=root)

        assert answer.status_code == 200, answer.text
        for instance in reversed(instances):
            assert (await instance.get("/get-session", headers=bearer(token))).status_code == 401
        assert await instances[0].rows("SELECT id FROM session WHERE impersonated_by IS NOT NULL") == []

    @pytest.mark.threat("ADM9")
    async def test_the_sessions_of_the_user_are_handles(
        self, service: Service, admin: Headers, user: Headers
    ) -> None:
        token = await self.impersonate(service, admin, user)

        listed = (await service.get("/list-sessions", headers=bearer(token))).json()

        assert {session["token"][:4] for session in listed if session["token"] != token} == {"rvk_"}
        for session in listed:
            if session["token"] != token:
                assert (
                    await service.get("/get-session", headers=bearer(session["token"]))
                ).status_code == 401
        mine = (await service.get("/list-sessions", headers=user)).json()
        assert token not in {session["token"] for session in mine}
        assert [session.get("impersonatedBy") is not None for session in mine].count(True) == 1

    @pytest.mark.threat("ADM11")
    async def test_the_administrators_cookie_opens_nothing_and_fits_one_session(
        self, service: Service, sign_up: SignIn, admin: Headers, user: Headers
    ) -> None:
        other = await administrator(service, sign_up, "other@example.com")
        tokens_of = [
            (await service.get("/get-session", headers=one)).json()["session"]["token"]
            for one in (admin, other, user)
        ]
        service.client.cookies.clear()
        for operation in JSON_OPERATIONS.values():
            if operation.spec.get("security") is None:
                cookie = {"Cookie": f"service.admin-session={tokens_of[0]}", "Origin": BASE_URL}
                answer = await service.client.request(operation.method, operation.path, headers=cookie)
                assert (operation.path, answer.status_code) == (operation.path, 401)
        for wrong in (tokens_of[1], tokens_of[2], "x" * 32, "", 'forged"\\'):
            token = await self.impersonate(service, admin, user)
            cookies = {**bearer(token), "Cookie": f"service.admin-session={wrong}", "Origin": BASE_URL}
            stopped = await service.post("/admin/stop-impersonating", {}, headers=cookies)
            assert (stopped.status_code, stopped.json()) == (200, {"session": None, "user": None})
            assert "set-auth-token" not in stopped.headers
            service.client.cookies.clear()

    @pytest.mark.both_databases
    async def test_of_many_who_stop_one_comes_back(
        self, service: Service, admin: Headers, user: Headers
    ) -> None:
        own = (await service.get("/get-session", headers=admin)).json()["session"]["token"]
        token = await self.impersonate(service, admin, user)
        cookies = {
            "Cookie": f"service.session-token={token}; service.admin-session={own}",
            "Origin": BASE_URL,
        }

        answers = await asyncio.gather(
            *(service.post("/admin/stop-impersonating", {}, headers=cookies) for _ in range(20))
        )

        restored = [answer.json()["session"]["token"] for answer in answers if answer.status_code == 200]
        assert restored == [own]
        assert {answer.status_code for answer in answers} == {200, 401}

    @pytest.mark.both_databases
    @pytest.mark.threat("ADM7")
    async def test_none_is_left_when_the_administrator_signs_out_meanwhile(
        self, service: Service, sign_up: SignIn, user: Headers
    ) -> None:
        body = {"userId": await id_of(service, user)}
        for number in range(5):
            admin = await administrator(service, sign_up, f"admin{number}@example.com")
            service.client.cookies.clear()
            started, _ = await asyncio.gather(
                service.post("/admin/impersonate-user", body, headers=admin),
                service.post("/revoke-sessions", {}, headers=admin),
            )
            assert started.status_code in (200, 401)
            if started.status_code == 200:
                token = started.json()["session"]["token"]
                service.client.cookies.clear()
                assert (await service.get("/get-session", headers=bearer(token))).status_code == 401
        assert await service.rows("SELECT id FROM session WHERE impersonated_by IS NOT NULL") == []

    async def test_the_clean_up_of_the_administrators_session_takes_it_along(
        self, service: Service, admin: Headers, user: Headers
    ) -> None:
        await self.impersonate(service, admin, user)
        await change(service, "UPDATE session SET expires_at = created_at WHERE impersonated_by IS NULL")

        await cleanup.sweep(service.services.database, service.clock())

        assert await service.rows("SELECT id FROM session") == []
