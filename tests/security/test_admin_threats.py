"""Rows ADM1 to ADM23, as far as tests/handlers/test_admin.py does not show them: administration."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from tests.conftest import Headers, MakeService, SignIn
from tests.service import PASSWORD, Service

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
        answer = await service.get(path, headers=admin, params={"id": await id_of(service, admin)})

        assert answer.status_code == 404

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
        reset = mail["link"].partition("/reset-password/")[2].partition("?")[0]

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
