"""The operations of openapi/paths/users.yaml, through the public door."""

import asyncio
from typing import Any

import pytest

from models import Account, OneTimeToken, Outbox, Session, User
from tests.conftest import Headers, MakeService
from tests.handlers.people import add_person
from tests.handlers.steps import (
    ADA,
    AT,
    CLEARED,
    EVE,
    NEW_PASSWORD,
    UNKNOWN,
    WRONG_USERNAMES,
    bearer,
    code,
    count,
    deletion_token,
    execute,
    join,
    looks,
    refusal,
    remove_passwords,
    reset_token,
    set_hash,
    set_user,
    sign_in,
    token_in,
    token_of,
    user_of,
    works,
)
from tests.service import BASE_URL, PASSWORD, Service

BY_MAIL = {"delete_user.confirm_by_mail": "true"}
DELETED = {"success": True, "message": "User deleted"}
INVALID_TOKEN = (404, "INVALID_TOKEN", "Invalid token")


async def update(service: Service, headers: Headers, **changes: Any) -> Any:
    return await service.post("/update-user", changes, headers=headers)


async def delete(service: Service, headers: Headers, **body: Any) -> Any:
    return await service.post("/delete-user", body, headers=headers)


async def confirm(service: Service, headers: Headers, **query: str) -> Any:
    return await service.get("/delete-user/callback", params=query, headers=headers)


async def is_there(service: Service, email: str = ADA) -> bool:
    return bool(await service.rows('SELECT id FROM "user" WHERE email = :email', email=email))


@pytest.mark.operation("users.update")
class TestUpdate:
    async def test_changes_what_is_sent(self, service: Service) -> None:
        ada = await join(service)
        before = await user_of(service, ada)
        service.clock.advance(minutes=1)
        changes = {
            "name": "Ada King",
            "image": "https://example.com/a",
            "username": "Ada_L",
            "displayUsername": "Ada L.",
        }

        answer = await update(service, ada, **changes)

        assert (answer.status_code, answer.json()) == (200, {"status": True})
        assert await user_of(service, ada) == {
            **before,
            **changes,
            "username": "ada_l",
            "updatedAt": "2026-01-01T12:01:00.000Z",
        }

    @pytest.mark.parametrize(
        ("change", "shown"),
        [
            ({"name": ""}, {"name": ""}),
            ({"image": None}, {"image": None}),
            ({"image": ""}, {"image": None}),
            ({"username": "Other"}, {"username": "other"}),
            ({"displayUsername": "Other"}, {"displayUsername": "Other"}),
            ({"locale": "pt"}, {"locale": "pt-BR"}),
            ({"locale": "DE_at"}, {"locale": "de"}),
            ({"locale": None}, {"locale": None}),
            ({"name": "B", "unknown": 1, "__proto__": {"role": "admin"}}, {"name": "B"}),
        ],
        ids=str,
    )
    async def test_changes_each_for_itself(
        self, service: Service, change: dict[str, Any], shown: dict[str, Any]
    ) -> None:
        ada = await join(service, username="ada_l", image="https://example.com/a", locale="fr-CA")
        before = await user_of(service, ada)

        answer = await update(service, ada, **change)

        assert answer.status_code == 200
        assert await user_of(service, ada) == {**before, **shown}

    @pytest.mark.parametrize("locale", ["nl", "", "de;q=1", "x" * 40, 1, ["de"]], ids=str)
    async def test_names_a_locale_that_no_language_serves(self, service: Service, locale: Any) -> None:
        ada = await join(service)

        newcomer = {"name": "Eve", "email": EVE, "password": PASSWORD, "locale": locale}
        answers = [
            await update(service, ada, name="B", locale=locale),
            await service.post("/sign-up/email", newcomer),
        ]

        for answer in answers:
            assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
            assert [field["name"] for field in answer.json()["fields"]] == ["locale"]
        user = await user_of(service, ada)
        assert (user["name"], user["locale"]) == ("Ada", None)

    async def test_wants_something_to_change(self, service: Service) -> None:
        ada = await join(service)

        answers = [
            await update(service, ada),
            await update(service, ada, unknown=1),
            await service.client.post("/update-user", headers=ada),
        ]

        expected = (400, "VALIDATION_ERROR", "No fields to update")
        assert [refusal(answer) for answer in answers] == [expected] * 3
        assert [answer.json()["fields"] for answer in answers] == [[]] * 3

    @pytest.mark.threat("V30")
    async def test_leaves_the_address_to_change_email(self, service: Service) -> None:
        ada = await join(service)

        wrong: list[Any] = [EVE, ADA, None, 1, {}]
        for email in wrong:
            answer = await update(service, ada, name="B", email=email)
            assert refusal(answer) == (400, "EMAIL_CAN_NOT_BE_UPDATED", "Email can not be updated")

        assert (await user_of(service, ada))["name"] == "Ada"

    @pytest.mark.threat("V30", "V49")
    async def test_names_what_only_the_service_sets(self, service: Service) -> None:
        ada = await join(service)
        before = await user_of(service, ada)
        owned: dict[str, Any] = {
            "emailVerified": True, "role": "admin", "banned": False, "banReason": None, "banExpires": None,
            "twoFactorEnabled": False, "password": NEW_PASSWORD, "id": UNKNOWN, "createdAt": AT, "updatedAt": AT,
        }  # fmt: skip

        for key, value in owned.items():
            answer = await update(service, ada, **{"name": "B", key: value})
            assert refusal(answer) == (400, "FIELD_NOT_ALLOWED", f"{key} is not allowed to be set")

        assert await user_of(service, ada) == before

    @pytest.mark.threat("V77")
    async def test_refuses_a_taken_username(self, service: Service) -> None:
        ada = await join(service, username="ada_l")
        eve = await join(service, EVE)

        answer = await update(service, eve, username="ADA_L", name="B")

        message = "Username is already taken. Please try another."
        assert refusal(answer) == (400, "USERNAME_IS_ALREADY_TAKEN", message)
        assert (await user_of(service, eve))["name"] == "Eve"
        assert (await update(service, ada, username="ADA_L")).status_code == 200, "one's own is not taken"

    @pytest.mark.both_databases
    async def test_of_simultaneous_claims_to_one_username_one_succeeds(self, service: Service) -> None:
        callers = [await join(service, f"u{n}@example.com") for n in range(6)]

        answers = await asyncio.gather(*(update(service, headers, username="ada") for headers in callers))

        assert sorted(map(code, answers)) == ["200"] + ["400 USERNAME_IS_ALREADY_TAKEN"] * 5

    async def test_ignores_usernames_where_they_are_switched_off(self, make_service: MakeService) -> None:
        service = await make_service({"username.enabled": "false"})
        ada = await join(service, username="x", displayUsername="")
        joined = await user_of(service, ada)

        alone = await update(service, ada, username="x", displayUsername="")
        beside = await update(service, ada, name="B", username="x")

        user = await user_of(service, ada)
        assert refusal(alone) == (400, "VALIDATION_ERROR", "No fields to update")
        assert beside.status_code == 200
        assert (joined["username"], joined["displayUsername"]) == (None, None)
        assert (user["name"], user["username"], user["displayUsername"]) == ("B", None, None)


@pytest.mark.operation("users.delete")
class TestDelete:
    @pytest.mark.threat("V36")
    async def test_deletes_the_caller_with_all_that_is_theirs(self, service: Service) -> None:
        eve, ada = await join(service, EVE), await join(service)
        other = bearer((await sign_in(service)).json()["token"])
        await service.post("/send-verification-email", {"email": ADA}, headers=ada)
        token = await reset_token(service)

        answer = await delete(service, ada)

        assert (answer.status_code, answer.json()) == (200, DELETED)
        assert list(answer.json()) == ["success", "message"]
        assert answer.headers.get_list("set-cookie") == [CLEARED]
        assert [await works(service, headers) for headers in (ada, other)] == [False, False]
        for path in ("/list-sessions", "/list-accounts", "/delete-user/callback?token=x"):
            assert code(await service.get(path, headers=ada)) == "401 UNAUTHORIZED"
        for path in (
            "/update-user",
            "/change-password",
            "/change-email",
            "/delete-user",
            "/get-access-token",
        ):
            assert code(await service.post(path, {}, headers=ada)) == "401 UNAUTHORIZED"
        assert code(await sign_in(service)) == "401 INVALID_EMAIL_OR_PASSWORD"
        assert (await service.get(f"/reset-password/{token}")).status_code == 400
        for table in (User, Account, Session, OneTimeToken, Outbox):
            whose = "id" if table is User else "user_id"
            rows = await service.rows(f'SELECT {whose} AS owner FROM "{table.__tablename__}"')
            assert {row.owner for row in rows} <= {(await user_of(service, eve))["id"], None}, table

    async def test_wants_a_fresh_session(self, service: Service) -> None:
        ada = await join(service)

        service.clock.advance(days=1, milliseconds=1)
        assert await works(service, ada), "which extends the session and makes it no fresher"
        stale = await delete(service, ada)
        there = await is_there(service)
        with_password = await delete(service, ada, password=PASSWORD)

        message = "Session expired. Re-authenticate to perform this action."
        assert refusal(stale) == (400, "SESSION_EXPIRED", message)
        assert there
        assert with_password.json() == DELETED

    @pytest.mark.parametrize(("age", "expected"), [("0", "200"), ("1h", "400 SESSION_EXPIRED")])
    async def test_how_fresh_is_a_setting(self, make_service: MakeService, age: str, expected: str) -> None:
        service = await make_service({"session.fresh_age": age})
        ada = await join(service)

        service.clock.advance(hours=1, seconds=1)

        assert code(await delete(service, ada)) == expected

    async def test_a_wrong_password_deletes_nothing(self, service: Service) -> None:
        ada = await join(service)

        answers = [await delete(service, ada, password=p) for p in ("wrong password", "", "x" * 1025)]
        with_token = await delete(service, ada, password="wrong password", token=UNKNOWN)
        await set_hash(service, None)
        empty = await delete(service, ada, password=PASSWORD)
        await remove_passwords(service)
        none = await delete(service, ada, password=PASSWORD)

        assert refusal(answers[0]) == (400, "INVALID_PASSWORD", "Invalid password")
        assert [looks(answer) for answer in (*answers, with_token, empty, none)] == [looks(answers[0])] * 6
        assert await is_there(service)
        assert await works(service, ada)

    @pytest.mark.both_databases
    async def test_of_simultaneous_ones_the_user_is_gone_and_nothing_breaks(self, service: Service) -> None:
        ada = await join(service)

        answers = await asyncio.gather(*(delete(service, ada) for _ in range(8)))

        assert {code(answer) for answer in answers} <= {"200", "401 UNAUTHORIZED"}
        assert not await is_there(service)

    @pytest.mark.both_databases
    async def test_a_sign_in_that_crosses_it_leaves_no_session(self, service: Service) -> None:
        ada = await join(service)

        answers = await asyncio.gather(
            *(sign_in(service) for _ in range(5)), delete(service, ada), *(sign_in(service) for _ in range(5))
        )

        assert answers.pop(5).json() == DELETED
        assert {code(answer) for answer in answers} <= {"200", "401 INVALID_EMAIL_OR_PASSWORD"}
        assert await count(service, Session) == 0


class TestDeleteByMail:
    async def test_mails_a_link_and_deletes_nothing(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)

        answer = await delete(service, ada, callbackURL="/goodbye")

        [mail] = await service.inbox(template="delete-account")
        assert (answer.status_code, answer.json()) == (
            200,
            {"success": True, "message": "Verification email sent"},
        )
        assert "set-cookie" not in answer.headers
        assert mail["to"] == ADA
        assert mail["link"] == (
            f"{BASE_URL}/delete-user/callback?token={token_in(mail['link'])}&callbackURL=%2Fgoodbye"
        )
        assert await works(service, ada)

    async def test_asks_by_mail_with_the_right_password_and_an_old_session_too(
        self, make_service: MakeService
    ) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)
        service.clock.advance(days=2)

        answers = [
            await delete(service, ada, password=PASSWORD),
            await delete(service, ada),
            await delete(service, ada, password="wrong password"),
        ]

        assert [answer.json().get("message") for answer in answers[:2]] == ["Verification email sent"] * 2
        assert code(answers[2]) == "400 INVALID_PASSWORD"
        assert len(await service.inbox(template="delete-account")) == 2
        assert await is_there(service)

    async def test_a_token_in_the_body_deletes(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)
        token = await deletion_token(service, ada)
        service.clock.advance(hours=23)

        answer = await delete(service, ada, token=token)

        assert answer.json() == DELETED
        assert answer.headers.get_list("set-cookie") == [CLEARED]
        assert not await is_there(service)

    @pytest.mark.threat("V22", "V85")
    async def test_a_wrong_token_in_the_body_deletes_nothing(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada, eve = await join(service), await join(service, EVE)
        foreign = await deletion_token(service, eve, EVE)

        answers = [
            await delete(service, ada, token=token)
            for token in (UNKNOWN, "", foreign, token_of(ada), "\u00e9")
        ]
        with_password = await delete(service, ada, token=UNKNOWN, password=PASSWORD)

        assert [refusal(answer) for answer in (*answers, with_password)] == [INVALID_TOKEN] * 6
        assert await is_there(service)
        assert (await delete(service, eve, token=foreign)).json() == DELETED


LAST_ADMIN = (400, "LAST_ADMIN", "The last administrator cannot be removed")


@pytest.mark.operation("users.delete", "users.confirm_deletion")
class TestLastAdministrator:
    @pytest.mark.threat("ADM13")
    @pytest.mark.parametrize("proof", [{}, {"password": PASSWORD}])
    async def test_stays(self, service: Service, proof: dict[str, str]) -> None:
        admin, other = await add_person(service, "admin"), await add_person(service, "admin", EVE)
        await set_user(service, EVE, banned=True)  # A banned administrator does not count.

        assert refusal(await delete(service, admin.headers, **proof)) == LAST_ADMIN
        assert await works(service, admin.headers)

        await set_user(service, EVE, banned=False)
        assert (await delete(service, admin.headers, **proof)).json() == DELETED
        assert refusal(await delete(service, other.headers)) == LAST_ADMIN

    @pytest.mark.threat("ADM13")
    async def test_gets_no_mail_and_stays_with_an_old_one(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        admin, other = await add_person(service, "admin"), await add_person(service, "admin", EVE)
        token = await deletion_token(service, admin.headers, admin.email)
        await set_user(service, other.email, role="user")

        refused = [
            await delete(service, admin.headers, callbackURL="/goodbye"),
            await delete(service, admin.headers, token=token),
            await confirm(service, admin.headers, token=token),
            await confirm(service, admin.headers, token=token, callbackURL="/goodbye"),
        ]

        assert [refusal(answer) for answer in refused] == [LAST_ADMIN] * 4
        assert len(await service.inbox(template="delete-account")) == 1
        await set_user(service, other.email, role="admin")
        assert (await confirm(service, admin.headers, token=token)).json() == DELETED

    @pytest.mark.both_databases
    @pytest.mark.threat("ADM13")
    async def test_of_two_that_go_at_once_one_stays(self, service: Service) -> None:
        for turn in range(5):
            people = [await add_person(service, "admin", f"{letter}{turn}@example.com") for letter in "ab"]

            answers = await asyncio.gather(*(delete(service, one.headers) for one in people))

            assert sorted(code(answer) for answer in answers) == ["200", "400 LAST_ADMIN"]
            await execute(service, "UPDATE \"user\" SET role = 'user'")


@pytest.mark.operation("users.confirm_deletion")
class TestConfirmDeletion:
    async def test_deletes_the_caller(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)
        token = await deletion_token(service, ada)
        by_cookie = {"Cookie": f"service.session-token={token_of(ada)}"}
        for method in ("HEAD", "OPTIONS", "POST"):
            await service.client.request(method, f"/delete-user/callback?token={token}", headers=ada)
        still_there = await is_there(service)

        answer = await confirm(service, by_cookie, token=token)

        assert still_there
        assert (answer.status_code, answer.json()) == (200, DELETED)
        assert answer.headers.get_list("set-cookie") == [CLEARED]
        assert not await works(service, ada)
        assert not await is_there(service)

    @pytest.mark.parametrize(
        ("callback_url", "location"),
        [
            ("/goodbye?a=b", f"{BASE_URL}/goodbye?a=b"),
            ("http://localhost:3000/x#y", "http://localhost:3000/x#y"),
        ],
    )
    async def test_leads_on(self, make_service: MakeService, callback_url: str, location: str) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)
        token = await deletion_token(service, ada)

        answer = await confirm(service, ada, token=token, callbackURL=callback_url)

        assert (answer.status_code, answer.headers["location"]) == (302, location)
        assert answer.headers.get_list("set-cookie") == [CLEARED]
        assert not await is_there(service)

    @pytest.mark.threat("V1")
    async def test_leads_nowhere_else_and_deletes_nothing(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)
        token = await deletion_token(service, ada)

        for target in ("https://evil.test", "//evil.test", "/\\evil.test", "javascript:alert(1)"):
            answer = await confirm(service, ada, token=token, callbackURL=target)
            assert refusal(answer) == (403, "INVALID_CALLBACK_URL", "Invalid callbackURL")

        assert (await confirm(service, ada, token=token, callbackURL="")).json() == DELETED

    @pytest.mark.threat("V22", "V85")
    async def test_needs_the_session_of_the_owner(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada, eve = await join(service), await join(service, EVE)
        token = await deletion_token(service, ada)

        nobody = await confirm(service, {}, token=token)
        other = await confirm(service, eve, token=token)
        led = await confirm(service, eve, token=token, callbackURL="/x")

        assert refusal(nobody) == (401, "UNAUTHORIZED", "Unauthorized")
        assert [refusal(answer) for answer in (other, led)] == [INVALID_TOKEN] * 2
        assert await is_there(service)
        assert await is_there(service, EVE)
        assert (await confirm(service, ada, token=token)).json() == DELETED

    @pytest.mark.threat("V85")
    async def test_refuses_every_other_token(self, make_service: MakeService) -> None:
        service = await make_service(BY_MAIL)
        ada = await join(service)

        answers = [await confirm(service, ada, token=token) for token in (UNKNOWN, "", "x", "\u00e9")]
        missing = await confirm(service, ada)
        led = await confirm(service, ada, callbackURL="/x")
        twice = await service.get("/delete-user/callback?token=a&token=a", headers=ada)

        assert [refusal(answer) for answer in (*answers, missing, led)] == [INVALID_TOKEN] * 6
        assert code(twice) == "400 VALIDATION_ERROR"
        assert await is_there(service)

    @pytest.mark.parametrize("hours", [24, 1])
    async def test_expires(self, make_service: MakeService, hours: int) -> None:
        service = await make_service(
            {**BY_MAIL, **({"delete_user.token_expires_in": f"{hours}h"} if hours != 24 else {})}
        )
        ada = await join(service)
        token = await deletion_token(service, ada)

        service.clock.advance(hours=hours)

        assert refusal(await confirm(service, ada, token=token)) == INVALID_TOKEN
        assert await is_there(service)


@pytest.mark.operation("users.check_username")
class TestCheckUsername:
    @pytest.mark.threat("V77")
    @pytest.mark.parametrize(
        ("username", "available"),
        [("ada_l", False), ("ADA_L", False), ("ada_m", True), ("a.b", True), ("a" * 30, True)],
    )
    async def test_tells_whether_it_can_be_had(
        self, service: Service, username: str, available: bool
    ) -> None:
        await join(service, username="Ada_L")

        answer = await service.post("/is-username-available", {"username": username})

        assert (answer.status_code, answer.json()) == (200, {"available": available})


class TestUsernames:
    """The same rules hold wherever a username is sent."""

    @pytest.mark.threat("V75")
    @pytest.mark.parametrize(("username", "error", "message"), WRONG_USERNAMES)
    async def test_every_operation_refuses_a_wrong_one(
        self, service: Service, username: str, error: str, message: str
    ) -> None:
        eve = await join(service, EVE)
        newcomer = {"name": "Ada", "email": ADA, "password": PASSWORD}
        bodies = {
            "/sign-up/email": {**newcomer, "username": username},
            "/update-user": {"name": "B", "username": username},
            "/sign-in/username": {"username": username, "password": PASSWORD},
            "/is-username-available": {"username": username},
        }

        refusals = [refusal(await service.post(path, body, headers=eve)) for path, body in bodies.items()]

        assert refusals == [(status, error, message) for status in (400, 400, 422, 422)]
        assert await count(service, User) == 1
        assert (await user_of(service, eve))["name"] == "Eve"

    @pytest.mark.parametrize("shown", ["", "a" * 65, "a\nb", "\u202e"])
    async def test_sign_up_and_update_refuse_a_wrong_display_name(self, service: Service, shown: str) -> None:
        eve = await join(service, EVE)
        newcomer = {"name": "Ada", "email": ADA, "password": PASSWORD, "displayUsername": shown}

        signed_up = await service.post("/sign-up/email", newcomer)
        updated = await update(service, eve, displayUsername=shown)

        expected = (400, "INVALID_DISPLAY_USERNAME", "Display username is invalid")
        assert [refusal(answer) for answer in (signed_up, updated)] == [expected] * 2
