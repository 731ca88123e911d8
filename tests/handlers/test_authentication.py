"""The operations of openapi/paths/authentication.yaml, through the public door."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from models import Account, OneTimeToken, Session, User
from tests.conftest import Headers, MakeService
from tests.handlers.steps import (
    ADA,
    AT,
    AUGUSTA,
    CLEARED,
    EVE,
    UNKNOWN,
    WRONG_PASSWORDS,
    bearer,
    code,
    count,
    join,
    local,
    looks,
    opens,
    refusal,
    remove_passwords,
    set_hash,
    set_user,
    sign_in,
    token_of,
    until_blocked,
    user_of,
    verify,
    works,
)
from tests.service import BASE_URL, PASSWORD, START, Service
from tests.trail import forget, told, trail

NEWCOMER: dict[str, Any] = {"name": "Ada", "email": ADA, "password": PASSWORD}
COOKIE = "service.session-token={}; Path=/; SameSite=Lax; Max-Age=604800; HttpOnly; Secure"
BRIEF_COOKIE = "service.session-token={}; Path=/; SameSite=Lax; HttpOnly; Secure"

VECTORS = json.loads((Path(__file__).parents[1] / "server" / "crypto" / "foreign_hashes.json").read_text())
IMPORTED = [
    pytest.param(hashed, id=f"{name} {form}")
    for form in ("of_password_as_sent", "of_its_nfkc_form")
    for name, hashed in VECTORS[form].items()
    if name in ("bcrypt", "django argon2", "better-auth")
]
"""Hashes of three programs; tests/server/crypto/test_foreign_hashes.py verifies those of all."""


def cookies_of(answer: Any) -> list[str]:
    """Return every Set-Cookie header of an answer."""
    return list(answer.headers.get_list("set-cookie"))


def with_cookie(headers: Headers, other: Headers) -> Headers:
    """Return the headers with the cookie of another session beside them."""
    return {**headers, "Cookie": f"service.session-token={token_of(other)}"}


@pytest.mark.operation("authentication.sign_up_email")
class TestSignUpEmail:
    async def test_gives_token_and_user(self, service: Service) -> None:
        answer = await service.post("/sign-up/email", {**NEWCOMER, "email": "Ada@Example.COM"})

        body = answer.json()
        assert answer.status_code == 200
        assert list(body) == ["token", "user"]
        assert body["user"] == {
            "id": body["user"]["id"],
            "email": "ada@example.com",
            "name": "Ada",
            "image": None,
            "emailVerified": False,
            "createdAt": AT,
            "updatedAt": AT,
        }
        assert await user_of(service, bearer(body["token"])) == {
            **body["user"],
            "username": None,
            "displayUsername": None,
            "twoFactorEnabled": False,
            "role": "user",
            "banned": False,
            "banReason": None,
            "banExpires": None,
            "locale": None,
        }

    async def test_hands_the_session_over_by_cookie_and_header_too(self, service: Service) -> None:
        answer = await service.post("/sign-up/email", NEWCOMER)

        token = answer.json()["token"]
        assert cookies_of(answer) == [COOKIE.format(token)]
        assert answer.headers["set-auth-token"] == token

    async def test_the_cookie_has_the_attributes_of_the_settings(self, make_service: MakeService) -> None:
        service = await make_service(
            {
                "session.cookie_name": "sid",
                "session.cookie_secure": "false",
                "session.cookie_http_only": "false",
                "session.cookie_same_site": "Strict",
                "session.cookie_domain": "example.com",
                "session.expires_in": "1h",
                "session.update_age": "1h",
            }
        )

        answer = await service.post("/sign-up/email", NEWCOMER)

        service.client.cookies.clear()
        token = answer.json()["token"]
        assert cookies_of(answer) == [
            "sid=; Path=/; SameSite=Strict; Max-Age=0",  # The cookie of the same name without a domain.
            f"sid={token}; Path=/; SameSite=Strict; Domain=example.com; Max-Age=3600",
        ]
        assert await works(service, {"Cookie": f"sid={token}"})
        assert not await works(service, {"Cookie": f"service.session-token={token}"})

    @pytest.mark.parametrize(
        "image", ["javascript:alert(1)", "data:image/png;base64,AA", "//images.example.com/a.png", "a.png", "https://",
                  "ftp://example.com/a.png", "https://example.com/" + "a" * 2048, "https://example.com/\r\na", " "]
    )  # fmt: skip
    async def test_refuses_an_image_that_is_no_web_address(self, service: Service, image: str) -> None:
        answer = await service.post("/sign-up/email", {**NEWCOMER, "image": image})

        assert code(answer) == "400 VALIDATION_ERROR"
        assert answer.json()["message"].startswith("[body.image] ")

    @pytest.mark.threat("R35")
    @pytest.mark.parametrize(
        "name", ["", "a" * 256, "\U0001f600" * 256, "<a href=https://evil.test>x</a>", "{{7*7}}"]
    )
    async def test_takes_any_name_that_does_not_steer_the_display(self, service: Service, name: str) -> None:
        answer = await service.post("/sign-up/email", {**NEWCOMER, "name": name})

        assert answer.json()["user"]["name"] == name

    @pytest.mark.parametrize(
        "email", ["a@b.c", "x" * 64 + "@example.com", "a!#$%&'*+/=?^_`{|}~-z@xn--exmple-cua.com"]
    )
    async def test_takes_unusual_addresses(self, service: Service, email: str) -> None:
        answer = await service.post("/sign-up/email", {**NEWCOMER, "email": email})

        assert answer.json()["user"]["email"] == email

    async def test_mails_a_verification_link(self, service: Service) -> None:
        await join(service, callbackURL="http://localhost:3000/welcome?a=b&c")

        [mail] = await service.inbox()

        assert (mail["template"], mail["to"]) == ("verify-email", ADA)
        assert mail["link"].startswith(f"{BASE_URL}/verify-email?token=")
        assert mail["link"].endswith("&callbackURL=http%3A%2F%2Flocalhost%3A3000%2Fwelcome%3Fa%3Db%26c")
        answer = await service.get(local(mail["link"]))
        assert (answer.status_code, answer.headers["location"]) == (
            302,
            "http://localhost:3000/welcome?a=b&c",
        )

    @pytest.mark.parametrize(
        "settings",
        [
            {"email_verification.send_on_sign_up": "false"},
            {"email_verification.enabled": "false"},
            {"mail.sender": "none"},
        ],
        ids=str,
    )
    async def test_mails_nothing_where_that_is_switched_off(
        self, make_service: MakeService, settings: dict[str, str]
    ) -> None:
        service = await make_service(settings)

        await join(service)

        assert await service.inbox() == []
        assert await count(service, OneTimeToken) == 0

    async def test_checks_the_username_then_the_password_then_the_address(self, service: Service) -> None:
        await join(service, username="ada_l")
        wanted = {**NEWCOMER, "username": "x", "displayUsername": "", "password": "x"}

        refusals = []
        for repaired in ({}, {"username": "ADA_L"}, {"displayUsername": "A"}, {"username": "other"},
                         {"password": "password"}, {"password": PASSWORD}):  # fmt: skip
            wanted.update(repaired)
            refusals.append(code(await service.post("/sign-up/email", wanted)))

        assert refusals == [
            "400 USERNAME_TOO_SHORT",
            "400 INVALID_DISPLAY_USERNAME",
            "400 USERNAME_IS_ALREADY_TAKEN",
            "400 PASSWORD_TOO_SHORT",
            "400 PASSWORD_TOO_COMMON",
            "422 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL",
        ]


class TestSignUpUsername:
    @pytest.mark.parametrize(
        ("sent", "username", "shown"),
        [
            ({"username": "Ada_L.1"}, "ada_l.1", "Ada_L.1"),
            ({"displayUsername": "Ada_L"}, "ada_l", "Ada_L"),
            ({"displayUsername": "Ada Lovelace"}, None, "Ada Lovelace"),
            ({"displayUsername": "A"}, None, "A"),
            ({"username": "Ada", "displayUsername": "Somebody \u00e9lse"}, "ada", "Somebody \u00e9lse"),
            ({"username": "a" * 30}, "a" * 30, "a" * 30),
            ({"displayUsername": "\U0001f600" * 64}, None, "\U0001f600" * 64),
            ({}, None, None),
        ],
        ids=str,
    )
    async def test_each_name_may_supply_the_other(
        self, service: Service, sent: dict[str, str], username: str | None, shown: str | None
    ) -> None:
        user = await user_of(service, await join(service, **sent))

        assert (user["username"], user["displayUsername"]) == (username, shown)

    async def test_refuses_a_taken_one(self, service: Service) -> None:
        await join(service, username="ada_l")

        for sent in ({"username": "ADA_l"}, {"displayUsername": "Ada_L"}):
            answer = await service.post("/sign-up/email", {**NEWCOMER, "email": EVE, **sent})

            message = "Username is already taken. Please try another."
            assert refusal(answer) == (400, "USERNAME_IS_ALREADY_TAKEN", message)

    @pytest.mark.both_databases
    async def test_of_simultaneous_ones_one_succeeds(self, service: Service) -> None:
        wanted = [{**NEWCOMER, "email": f"u{n}@example.com", "username": "ada"} for n in range(6)]

        answers = await asyncio.gather(*(service.post("/sign-up/email", body) for body in wanted))

        assert sorted(map(code, answers)) == ["200"] + ["400 USERNAME_IS_ALREADY_TAKEN"] * 5
        assert await count(service, User) == await count(service, Account) == 1


class TestSignUpPassword:
    async def test_refuses(self, service: Service) -> None:
        for password, error, message in WRONG_PASSWORDS:
            answer = await service.post("/sign-up/email", {**AUGUSTA, "password": password})
            assert refusal(answer) == (400, error, message)
        assert await count(service, User) == 0

    @pytest.mark.threat("V72")
    @pytest.mark.parametrize("password", ["a b c d ", "a " * 64, "\U0001f600 \U0001f601 \U0001f602 \U0001f603 ",
                                          " " * 8, "x" * 72 + "tail"])  # fmt: skip
    async def test_takes_as_it_is(self, service: Service, password: str) -> None:
        await join(service, password=password)

        assert await opens(service, password)
        assert not await opens(service, password[:-1])
        assert not await opens(service, password + " ")

    async def test_reads_every_spelling_of_the_same_characters_alike(self, service: Service) -> None:
        await join(service, password="pa\u0308ssword \u2460")

        assert await opens(service, "p\u00e4ssword 1")

    async def test_follows_the_settings(self, make_service: MakeService, tmp_path: Path) -> None:
        listed = tmp_path / "listed.txt"
        listed.write_text("Zebra\nunicorn\n")
        service = await make_service(
            {"password.min_length": "5", "password.max_length": "7", "password.blocklist_file": str(listed)}
        )

        tried = ["four", "eight888", "ZEBRA", "Unicorn", "okapi"]
        answers = [await service.post("/sign-up/email", {**NEWCOMER, "password": p}) for p in tried]

        assert [code(answer) for answer in answers] == [
            "400 PASSWORD_TOO_SHORT",
            "400 PASSWORD_TOO_LONG",
            "400 PASSWORD_TOO_COMMON",
            "400 PASSWORD_TOO_COMMON",
            "200",
        ]
        assert (answers[0].json()["minimumLength"], answers[1].json()["maximumLength"]) == (5, 7)

    async def test_anything_goes_without_the_blocklist(self, make_service: MakeService) -> None:
        service = await make_service({"password.blocklist": "false"})

        for email, password in ((ADA, "password"), (EVE, EVE), ("bob@example.com", "gatewright")):
            await join(service, email, password)
            assert await opens(service, password, email)

    @pytest.mark.threat("V87")
    async def test_is_stored_as_argon2id(self, service: Service) -> None:
        await join(service)

        [row] = await service.rows("SELECT provider_id, issuer, account_id, user_id, password FROM account")

        assert (row.provider_id, row.issuer, row.account_id) == ("credential", "", row.user_id)
        assert row.password.startswith("$argon2id$v=19$m=1024,t=1,p=1$")


class TestSignUpTakenAddress:
    @pytest.mark.threat("V50")
    async def test_is_refused_in_any_case_and_changes_nothing(self, service: Service) -> None:
        await join(service)
        mails = await service.inbox()

        answer = await service.post(
            "/sign-up/email",
            {**NEWCOMER, "email": "ADA@Example.com", "name": "Eve", "password": "another password"},
        )

        taken = (422, "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL", "User already exists. Use another email.")
        assert refusal(answer) == taken
        assert cookies_of(answer) == []
        assert await service.inbox() == mails
        assert await opens(service, PASSWORD)
        assert not await opens(service, "another password")
        assert await count(service, User) == 1

    @pytest.mark.threat("V70")
    @pytest.mark.parametrize(
        "settings", [{"sign_up.auto_sign_in": "false"}, {"email_verification.required": "true"}], ids=str
    )
    async def test_looks_like_a_free_one_where_sign_up_makes_no_session(
        self, make_service: MakeService, settings: dict[str, str]
    ) -> None:
        service = await make_service(settings)

        free = await service.post("/sign-up/email", {**NEWCOMER, "image": "https://example.com/a"})
        taken = await service.post(
            "/sign-up/email", {**NEWCOMER, "image": "https://example.com/a", "password": "another password"}
        )

        invented = taken.json()["user"]["id"]
        assert free.json()["token"] is None
        assert cookies_of(free) == []
        assert "set-auth-token" not in free.headers
        status, text, headers = looks(taken)
        assert looks(free) == (status, text.replace(invented, free.json()["user"]["id"]), headers)
        assert len(invented) == 32
        assert {m["template"] for m in await service.inbox(ADA)} == {"verify-email", "existing-account"}
        assert await count(service, User) == 1
        assert code(await sign_in(service, password="another password")) == "401 INVALID_EMAIL_OR_PASSWORD"

    @pytest.mark.threat("V70")
    async def test_the_same_rules_refuse_first(self, make_service: MakeService) -> None:
        service = await make_service({"sign_up.auto_sign_in": "false"})
        await service.post("/sign-up/email", {**NEWCOMER, "username": "ada_l"})

        refusals = [
            [
                code(await service.post("/sign-up/email", {**NEWCOMER, "email": email, **wrong}))
                for email in (ADA, EVE)
            ]
            for wrong in (
                {"password": "x"},
                {"username": "x"},
                {"username": "ada_l"},
                {"password": "password"},
            )
        ]

        assert all(known == unknown and known.startswith("400") for known, unknown in refusals)

    @pytest.mark.threat("V80")
    async def test_the_mail_to_the_owner_goes_to_the_owner_and_leads_nowhere(
        self, make_service: MakeService
    ) -> None:
        settings = {"sign_up.auto_sign_in": "false", "send_email_notifications": "false"}
        service = await make_service(settings)
        await service.post("/sign-up/email", NEWCOMER)

        await service.post("/sign-up/email", {**NEWCOMER, "email": "ADA@example.com", "name": "<b>Eve</b>"})

        [mail] = await service.inbox(template="existing-account")
        assert (mail["to"], mail["link"], mail["code"]) == (ADA, None, None)
        assert "Eve" not in mail["text"] + mail["html"] + mail["subject"]

    async def test_the_owner_hears_nothing_where_that_is_switched_off(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"sign_up.auto_sign_in": "false", "sign_up.notify_existing": "false"})
        await service.post("/sign-up/email", NEWCOMER)

        await service.post("/sign-up/email", NEWCOMER)

        assert [mail["template"] for mail in await service.inbox()] == ["verify-email"]

    @pytest.mark.both_databases
    async def test_simultaneous_ones_all_look_alike_and_make_one_user(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"sign_up.auto_sign_in": "false"})

        answers = await asyncio.gather(*(service.post("/sign-up/email", NEWCOMER) for _ in range(10)))

        assert {looks(a)[1].replace(a.json()["user"]["id"], "") for a in answers} == {
            looks(answers[0])[1].replace(answers[0].json()["user"]["id"], "")
        }
        assert await count(service, User) == await count(service, Account) == 1

    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"])
    async def test_crossing_the_deletion_of_the_owner_it_breaks_nothing(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"sign_up.auto_sign_in": "false"})
        await service.post("/sign-up/email", NEWCOMER)

        async with service.services.database.transaction() as session:
            await session.execute(text('DELETE FROM "user"'))
            signing_up = asyncio.create_task(service.post("/sign-up/email", NEWCOMER))
            await until_blocked(service)

        assert (await signing_up).status_code == 200
        assert await opens(service, PASSWORD)


class TestSaturation:
    @pytest.mark.threat("R42")
    @pytest.mark.both_databases
    async def test_what_cannot_be_hashed_now_is_refused_as_a_whole(self, make_service: MakeService) -> None:
        service = await make_service({"password.hash_workers": "1", "password.hash_queue": "0"})
        wanted = [{**NEWCOMER, "email": f"u{n}@example.com"} for n in range(10)]

        *answers, other = await asyncio.gather(
            *(service.post("/sign-up/email", body) for body in wanted), service.get("/get-session")
        )

        refused = [answer for answer in answers if answer.status_code != 200]
        assert {refusal(answer) for answer in refused} == {(503, "OVERLOADED", "Server is busy")}
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}
        assert await count(service, User) == await count(service, Account) == len(answers) - len(refused) > 0
        assert other.status_code == 401


@pytest.mark.operation("authentication.sign_in_email")
class TestSignInEmail:
    async def test_gives_token_and_user(self, service: Service) -> None:
        ada = await join(service)
        service.clock.advance(seconds=1)

        answer = await sign_in(service, "ADA@example.com")

        token = answer.json()["token"]
        assert answer.status_code == 200
        assert list(answer.json()) == ["redirect", "token", "url", "user"]
        assert answer.json() == {
            "redirect": False,
            "token": token,
            "url": None,
            "user": {
                "id": (await user_of(service, ada))["id"],
                "email": ADA,
                "name": "Ada",
                "image": None,
                "emailVerified": False,
                "createdAt": AT,
                "updatedAt": AT,
            },
        }
        assert cookies_of(answer) == [COOKIE.format(token)]
        assert answer.headers["set-auth-token"] == token
        assert await works(service, bearer(token))

    @pytest.mark.parametrize("callback_url", ["/welcome?a=b", "http://localhost:3000/x", ""])
    async def test_repeats_where_to_go(self, service: Service, callback_url: str) -> None:
        await join(service)

        answer = await sign_in(service, callbackURL=callback_url)

        assert answer.json()["redirect"] is (callback_url != "")
        assert answer.json()["url"] == (callback_url or None)

    @pytest.mark.parametrize("forget", [False, "fAlSe"])
    async def test_a_session_that_is_not_remembered_ends_with_the_browser(
        self, service: Service, forget: bool | str
    ) -> None:
        signed_up = await service.post("/sign-up/email", {**NEWCOMER, "rememberMe": forget})
        signed_in = await sign_in(service, rememberMe=forget)

        for answer in (signed_up, signed_in):
            token = answer.json()["token"]
            session = (await service.get("/get-session", headers=bearer(token))).json()["session"]
            assert cookies_of(answer) == [BRIEF_COOKIE.format(token)]
            assert session["expiresAt"] == "2026-01-02T12:00:00.000Z"

    @pytest.mark.threat("R34")
    async def test_notes_where_the_session_comes_from(self, service: Service) -> None:
        await join(service)

        answer = await service.post(
            "/sign-in/email",
            {"email": ADA, "password": PASSWORD},
            headers={"User-Agent": "x\x01" + "y" * 600, "X-Forwarded-For": "203.0.113.7"},
        )

        headers = bearer(answer.json()["token"])
        session = (await service.get("/get-session", headers=headers)).json()["session"]
        assert session["userAgent"] == "x" + "y" * 511
        assert session["ipAddress"] == "127.0.0.1"

    @pytest.mark.threat("V34")
    async def test_never_adopts_a_token_and_leaves_the_old_session_alone(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        ada, eve = await join(service), await join(service, EVE)
        planted = [UNKNOWN, token_of(eve), token_of(ada)]

        answers = []
        for number, token in enumerate(planted):
            newcomer = {**NEWCOMER, "email": f"u{number}@example.com"}
            answers.append(await service.post("/sign-in/email", NEWCOMER, headers=carry(token)))
            answers.append(await service.post("/sign-up/email", newcomer, headers=carry(token)))

        assert {answer.status_code for answer in answers} == {200}
        assert len({*planted, *(answer.json()["token"] for answer in answers)}) == 9
        assert not await works(service, carry(UNKNOWN))
        assert (await user_of(service, eve))["email"] == EVE
        assert await works(service, ada)

    @pytest.mark.threat("V70")
    async def test_an_unknown_address_and_a_wrong_password_look_alike(self, service: Service) -> None:
        await join(service)
        await join(service, EVE)
        await set_user(service, EVE, banned=True)

        wrong = await sign_in(service, password="not the password")
        others = [
            await sign_in(service, "nobody@example.com"),
            await sign_in(service, EVE, "not the password"),
            await sign_in(service, password=""),
            await sign_in(service, password="x" * 1025),
            await sign_in(service, password=PASSWORD.upper()),
            await sign_in(service, password=PASSWORD + " "),
        ]

        assert refusal(wrong) == (401, "INVALID_EMAIL_OR_PASSWORD", "Invalid email or password")
        assert cookies_of(wrong) == []
        assert [looks(answer) for answer in others] == [looks(wrong)] * len(others)

    @pytest.mark.threat("V70")
    async def test_a_user_without_a_password_looks_like_nobody(self, service: Service) -> None:
        await join(service)
        unknown = looks(await sign_in(service, "nobody@example.com"))

        await set_hash(service, None)
        empty = looks(await sign_in(service))
        await set_hash(service, "broken$hash")
        broken = looks(await sign_in(service))
        await remove_passwords(service)
        none = looks(await sign_in(service))

        assert empty == broken == none == unknown

    async def test_tells_what_is_no_address(self, service: Service) -> None:
        assert refusal(await sign_in(service, "ada")) == (400, "INVALID_EMAIL", "Invalid email")

    async def test_the_length_rules_do_not_matter(self, service: Service) -> None:
        await join(service)

        for password in ("x", "x y " * 200):
            await set_hash(service, await service.services.hasher.hash(password))
            assert await opens(service, password)


class TestBan:
    @pytest.mark.threat("V33")
    async def test_lifts_at_the_next_sign_in_when_its_time_is_over_and_shows_until_then(
        self, service: Service
    ) -> None:
        ada = await join(service)
        until = START + timedelta(hours=1)
        await set_user(service, banned=True, ban_reason="spam", ban_expires=until)

        service.clock.now = until - timedelta(milliseconds=1)
        before = await sign_in(service)
        service.clock.now = until
        shown = await user_of(service, ada)
        after = await sign_in(service)

        assert code(before) == "403 BANNED_USER"
        assert (shown["banned"], shown["banExpires"]) == (True, "2026-01-01T13:00:00.000Z")
        assert after.status_code == 200
        user = await user_of(service, bearer(after.json()["token"]))
        assert (user["banned"], user["banReason"], user["banExpires"]) == (False, None, None)


class TestVerificationRequired:
    @pytest.mark.threat("V32")
    async def test_opens_no_session_before_the_address_is_verified(self, make_service: MakeService) -> None:
        service = await make_service({"email_verification.required": "true"})
        made = await service.post("/sign-up/email", {**NEWCOMER, "username": "ada"})

        right, wrong = await sign_in(service), await sign_in(service, password="wrong password")
        named = await service.post("/sign-in/username", {"username": "ada", "password": PASSWORD})
        before = await count(service, Session)
        await verify(service)

        assert (made.json()["token"], before) == (None, 0)
        assert refusal(right) == (403, "EMAIL_NOT_VERIFIED", "Email not verified")
        assert [*cookies_of(made), *cookies_of(right)] == []
        assert code(wrong) == "401 INVALID_EMAIL_OR_PASSWORD"
        assert code(named) == "403 EMAIL_NOT_VERIFIED"
        assert len(await service.inbox()) == 1
        assert await opens(service, PASSWORD)

    async def test_mails_a_new_link_where_sign_in_is_told_to(self, make_service: MakeService) -> None:
        service = await make_service(
            {
                "email_verification.required": "true",
                "email_verification.send_on_sign_in": "true",
                "email_verification.send_on_sign_up": "false",
            }
        )
        await service.post("/sign-up/email", NEWCOMER)

        await sign_in(service, password="wrong password")
        before = await service.inbox()
        answer = await sign_in(service, callbackURL="/welcome")

        [mail] = await service.inbox()
        assert before == []
        assert code(answer) == "403 EMAIL_NOT_VERIFIED"
        assert (mail["template"], mail["to"]) == ("verify-email", ADA)
        assert mail["link"].endswith("&callbackURL=%2Fwelcome")
        assert (await service.get(local(mail["link"]))).status_code == 302
        assert (await sign_in(service)).json()["user"]["emailVerified"] is True

    async def test_mails_nothing_at_sign_in_where_it_is_not_required(self, make_service: MakeService) -> None:
        service = await make_service(
            {"email_verification.send_on_sign_in": "true", "email_verification.send_on_sign_up": "false"}
        )
        await join(service)

        assert await opens(service, PASSWORD)
        assert await service.inbox() == []


class TestImportedHash:
    @pytest.mark.parametrize("hashed", IMPORTED)
    async def test_signs_in_and_is_replaced(self, service: Service, hashed: str) -> None:
        await join(service)
        await set_hash(service, hashed)

        wrong = await sign_in(service, password=VECTORS["password"] + "x")
        kept = await service.rows("SELECT password FROM account")
        right = await sign_in(service, password=VECTORS["password"])

        [replaced] = await service.rows("SELECT password FROM account")
        assert code(wrong) == "401 INVALID_EMAIL_OR_PASSWORD"
        assert [row.password for row in kept] == [hashed]
        assert right.status_code == 200
        assert replaced.password.startswith("$argon2id$v=19$m=1024,t=1,p=1$")
        assert await opens(service, VECTORS["password"])

    @pytest.mark.both_databases
    async def test_of_simultaneous_sign_ins_all_succeed(self, service: Service) -> None:
        await join(service)
        await set_hash(service, VECTORS["of_its_nfkc_form"]["bcrypt"])

        answers = await asyncio.gather(*(sign_in(service, password=VECTORS["password"]) for _ in range(8)))

        assert [answer.status_code for answer in answers] == [200] * 8
        assert await opens(service, VECTORS["password"])

    @pytest.mark.both_databases
    async def test_does_not_undo_a_password_change_that_crosses_it(self, service: Service) -> None:
        ada = await join(service)
        old = VECTORS["password"]
        await set_hash(service, VECTORS["of_its_nfkc_form"]["bcrypt"])

        await asyncio.gather(
            *(sign_in(service, password=old) for _ in range(4)),
            service.post("/change-password", {"currentPassword": old, "newPassword": PASSWORD}, headers=ada),
            *(sign_in(service, password=old) for _ in range(4)),
        )

        assert await opens(service, PASSWORD)
        assert not await opens(service, old)

    async def test_a_hash_of_today_stays(self, service: Service) -> None:
        await join(service)
        before = await service.rows("SELECT password, updated_at FROM account")
        service.clock.advance(hours=1)

        assert await opens(service, PASSWORD)

        assert await service.rows("SELECT password, updated_at FROM account") == before


@pytest.mark.operation("authentication.sign_in_username")
class TestSignInUsername:
    @pytest.mark.threat("V77")
    async def test_gives_token_and_user(self, service: Service) -> None:
        ada = await join(service, username="Ada_L")
        body = {"username": "aDA_l", "password": PASSWORD, "callbackURL": "/x", "rememberMe": "false"}

        answer = await service.post("/sign-in/username", body)

        token = answer.json()["token"]
        user = await user_of(service, ada)
        assert list(answer.json()) == ["redirect", "token", "url", "user"]
        assert (answer.json()["redirect"], answer.json()["url"]) == (True, "/x")
        assert list(answer.json()["user"]) == [
            "id", "email", "name", "image", "emailVerified", "createdAt", "updatedAt",
        ]  # fmt: skip
        assert answer.json()["user"]["id"] == user["id"]
        assert cookies_of(answer) == [BRIEF_COOKIE.format(token)]
        assert await works(service, bearer(token))

    @pytest.mark.threat("V70")
    async def test_an_unknown_name_and_a_wrong_password_look_alike(self, service: Service) -> None:
        await join(service, username="ada_l")

        async def attempt(username: str, password: str) -> Any:
            return await service.post("/sign-in/username", {"username": username, "password": password})

        wrong = await attempt("ada_l", "not the password")
        unknown = await attempt("nobody", PASSWORD)
        await remove_passwords(service)
        passwordless = await attempt("ada_l", PASSWORD)

        assert refusal(wrong) == (401, "INVALID_USERNAME_OR_PASSWORD", "Invalid username or password")
        assert looks(wrong) == looks(unknown) == looks(passwordless)


@pytest.mark.operation("authentication.sign_out")
class TestSignOut:
    async def test_ends_this_session_alone(self, service: Service, carry: Callable[[str], Headers]) -> None:
        ada = carry(token_of(await join(service)))
        other = bearer((await sign_in(service)).json()["token"])

        answer = await service.post("/sign-out", headers=ada)

        assert (answer.status_code, answer.json()) == (200, {"success": True})
        assert cookies_of(answer) == [CLEARED]
        assert not await works(service, ada)
        assert await works(service, other)
        assert await count(service, Session) == 1

    async def test_succeeds_without_a_session(self, service: Service) -> None:
        cookies = [{"Cookie": f"service.session-token={value}"} for value in (UNKNOWN, "%")]

        for headers in ({}, bearer(UNKNOWN), {"Authorization": "Bearer"}, *cookies):
            answer = await service.post("/sign-out", headers=headers)

            assert (answer.status_code, answer.json()) == (200, {"success": True})
            assert cookies_of(answer) == [CLEARED]

    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"])
    async def test_clears_the_cookie_even_while_the_database_cannot_revoke(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"database.timeout": "1s"})
        ada = await join(service)

        async with service.services.database.transaction() as session:
            await session.execute(text("LOCK TABLE session IN EXCLUSIVE MODE"))
            headers = [with_cookie({}, ada), with_cookie(bearer(UNKNOWN), ada)]
            answers = [await service.post("/sign-out", headers=each) for each in headers]

        for answer in answers:
            assert refusal(answer) == (503, "SERVICE_UNAVAILABLE", "Service unavailable")
            assert cookies_of(answer) == [CLEARED]
        assert await works(service, ada)

    @pytest.mark.parametrize("authorization", [f"Bearer {UNKNOWN}", "Bearer", "Bearer {ended}"])
    async def test_a_dead_bearer_token_does_not_keep_the_session_of_the_cookie_alive(
        self, service: Service, authorization: str
    ) -> None:
        ended, here = await join(service), bearer((await sign_in(service)).json()["token"])
        await service.post("/sign-out", headers=ended)
        await forget(service)

        dead = {"Authorization": authorization.format(ended=token_of(ended))}
        answer = await service.post("/sign-out", headers=with_cookie(dead, here))

        assert (answer.status_code, answer.json()) == (200, {"success": True})
        assert cookies_of(answer) == [CLEARED]
        assert not await works(service, here)
        assert await count(service, Session) == 0
        assert told(await trail(service)) == ["sign_out"]

    @pytest.mark.parametrize("email", [ADA, EVE])
    async def test_ends_every_live_session_that_was_presented(self, service: Service, email: str) -> None:
        first, kept = await join(service), bearer((await sign_in(service)).json()["token"])
        second = (
            await join(service, EVE) if email == EVE else bearer((await sign_in(service)).json()["token"])
        )
        owner = (await user_of(service, second))["id"]
        ids = {row.id for row in await service.rows("SELECT id FROM session")}
        await forget(service)

        answer = await service.post("/sign-out", headers=with_cookie(first, second))

        left = {row.id for row in await service.rows("SELECT id FROM session")}
        records = await trail(service)
        assert (answer.status_code, cookies_of(answer)) == (200, [CLEARED])
        assert [await works(service, each) for each in (first, second, kept)] == [False, False, True]
        assert told(records) == ["sign_out", "sign_out"]
        assert {record.session_id for record in records} == ids - left
        assert owner in {record.user_id for record in records}
        assert all(record.actor_id == record.user_id for record in records)

    async def test_one_session_presented_twice_ends_once(self, service: Service) -> None:
        ada = await join(service)
        await forget(service)

        await service.post("/sign-out", headers=with_cookie(ada, ada))

        assert not await works(service, ada)
        assert told(await trail(service)) == ["sign_out"]

    async def test_a_banned_user_s_session_beside_a_bearer_token_ends_too(self, service: Service) -> None:
        ada, eve = await join(service), await join(service, EVE)
        await set_user(service, EVE, banned=True)

        await service.post("/sign-out", headers=with_cookie(ada, eve))

        assert await count(service, Session) == 0

    @pytest.mark.both_databases
    async def test_crossed_credentials_at_once_end_both_sessions(self, service: Service) -> None:
        ada, eve = await join(service), await join(service, EVE)
        crossed = [with_cookie(ada, eve), with_cookie(eve, ada)]

        answers = await asyncio.gather(*(service.post("/sign-out", headers=each) for each in crossed * 5))

        assert {answer.status_code for answer in answers} == {200}
        assert await count(service, Session) == 0
