"""The operations of openapi/paths/passwords.yaml, through the public door."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from models import Account, Session
from tests.conftest import Headers, MakeService
from tests.handlers.pages import stored_user
from tests.handlers.steps import (
    ADA,
    AUGUSTA,
    EVE,
    NEW_PASSWORD,
    UNKNOWN,
    WRONG_PASSWORDS,
    bearer,
    change_token,
    code,
    count,
    deletion_token,
    join,
    last_link,
    local,
    looks,
    opens,
    reduced,
    refusal,
    remove_passwords,
    reset_token,
    set_hash,
    set_user,
    sign_in,
    token_in,
    token_of,
    user_of,
    verify,
    works,
)
from tests.security.test_enumeration_threats import counted
from tests.service import BASE_URL, PASSWORD, Service

INVALID_TOKEN = (400, "INVALID_TOKEN", "Invalid token")


async def ask(service: Service, email: str = ADA, headers: Headers | None = None, **more: Any) -> Any:
    return await service.post("/request-password-reset", {"email": email, **more}, headers=headers)


async def reset(service: Service, token: Any, password: str = NEW_PASSWORD) -> Any:
    return await service.post("/reset-password", {"token": token, "newPassword": password})


async def change(service: Service, headers: Headers, **more: Any) -> Any:
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, **more}
    return await service.post("/change-password", body, headers=headers)


@pytest.mark.operation("passwords.forget", "passwords.request_reset")
class TestRequestReset:
    @pytest.mark.threat("V70")
    @pytest.mark.parametrize("path", ["/request-password-reset", "/forget-password"])
    async def test_answers_alike_for_everybody_and_mails_who_is_known(
        self, service: Service, path: str
    ) -> None:
        await join(service)
        await service.inbox()

        known = await service.post(path, {"email": "ADA@Example.com", "redirectTo": ""})
        unknown = await service.post(path, {"email": "nobody@example.com"})

        assert (known.status_code, known.text) == (200, '{"status":true}')
        assert looks(known) == looks(unknown)
        [mail] = await service.inbox(template="reset-password")
        assert mail["to"] == ADA
        assert mail["link"] == f"{BASE_URL}/account/reset-password?token={token_in(mail['link'])}"
        assert len(token_in(mail["link"])) == 32

    async def test_the_link_carries_where_to_go(self, service: Service) -> None:
        await join(service)

        await ask(service, redirectTo="http://localhost:3000/new?a=b&c")

        assert (await last_link(service, "reset-password")).endswith(
            "?callbackURL=http%3A%2F%2Flocalhost%3A3000%2Fnew%3Fa%3Db%26c"
        )

    @pytest.mark.threat("V10")
    async def test_no_header_tells_the_link_where_to_lead(self, make_service: MakeService) -> None:
        service = await make_service({"limits.mail_burst": "0"})
        await join(service)

        for name in ("Host", "X-Forwarded-Host", "X-Original-Host", "X-Forwarded-Server"):
            await ask(service, headers={name: "evil.test"})
        await ask(service, headers={"Forwarded": "host=evil.test;proto=https"})
        await ask(service, headers={"X-Forwarded-Prefix": "/evil", "X-Forwarded-Port": "1"})

        mails = await service.inbox(template="reset-password")
        assert len(mails) == 6
        assert all(mail["link"].startswith(f"{BASE_URL}/account/reset-password?token=") for mail in mails)
        assert all("evil" not in str(mail) for mail in mails)

    @pytest.mark.threat("V8")
    async def test_nothing_is_mailed_for_an_untrusted_redirect(self, service: Service) -> None:
        await join(service)
        before = await service.inbox()

        answer = await ask(service, redirectTo="https://evil.test")

        assert refusal(answer) == (403, "INVALID_REDIRECT_URL", "Invalid redirectURL")
        assert await service.inbox() == before

    async def test_needs_no_sender_for_anything_else(self, make_service: MakeService) -> None:
        service = await make_service({"mail.sender": "none", "password_reset.sender": "file"})
        await join(service)

        await ask(service)

        assert [mail["template"] for mail in await service.inbox()] == ["reset-password"]

    async def test_only_files_the_wish(self, service: Service) -> None:
        await join(service)
        await service.inbox()

        await ask(service)
        await ask(service, "nobody@example.com")

        filed = await service.rows("SELECT user_id FROM outbox WHERE state = 'unresolved'")
        assert [row.user_id for row in filed] == [None, None]
        assert await service.rows("SELECT digest FROM \"grant\" WHERE purpose = 'reset'") == []
        await service.inbox()
        assert await service.rows("SELECT id FROM outbox WHERE state = 'unresolved'") == []
        assert len(await service.rows("SELECT digest FROM \"grant\" WHERE purpose = 'reset'")) == 1

    async def test_ignores_sessions_that_are_sent_along(self, service: Service) -> None:
        eve = await join(service, EVE)
        await join(service)

        for headers in (eve, bearer(UNKNOWN), {"Cookie": f"service.session-token={UNKNOWN}"}):
            answer = await ask(service, headers=headers)
            assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)

        assert {mail["to"] for mail in await service.inbox(template="reset-password")} == {ADA}


@pytest.mark.operation("passwords.check_reset_token")
class TestCheckResetToken:
    async def test_gives_the_token_back_and_uses_nothing_up(self, service: Service) -> None:
        await join(service)
        token = await reset_token(service)

        answers = [await service.get(f"/reset-password/{token}") for _ in range(3)]
        for method in ("HEAD", "OPTIONS"):
            await service.client.request(method, f"/reset-password/{token}")
        empty = await service.get(f"/reset-password/{token}?callbackURL=")

        assert [(a.status_code, a.json()) for a in (*answers, empty)] == [(200, {"token": token})] * 4
        assert (await reset(service, token)).status_code == 200

    async def test_refuses_an_unknown_token(self, service: Service) -> None:
        for token in (UNKNOWN, "x" * 33, "%00", "a%00b", "%20", "\u00e9", "undefined"):
            answer = await service.get(f"/reset-password/{token}")
            led = await service.get(f"/reset-password/{token}", params={"callbackURL": "/new"})
            empty = await service.get(f"/reset-password/{token}?callbackURL=")

            assert [refusal(answer), refusal(empty)] == [INVALID_TOKEN] * 2
            assert led.status_code == 302
            assert led.headers["location"] == f"{BASE_URL}/new?error=INVALID_TOKEN"

    @pytest.mark.threat("V82")
    @pytest.mark.parametrize("hours", [1, 24])
    async def test_expires(self, make_service: MakeService, hours: int) -> None:
        service = await make_service({"reset_token_expiry_hours": str(hours)} if hours != 24 else {})
        await join(service)
        token = await reset_token(service)

        service.clock.advance(hours=hours, milliseconds=-1)
        live = await service.get(f"/reset-password/{token}")
        service.clock.advance(milliseconds=1)
        dead = await service.get(f"/reset-password/{token}")

        assert live.status_code == 200
        assert refusal(dead) == INVALID_TOKEN
        assert refusal(await reset(service, token)) == INVALID_TOKEN
        assert await opens(service, PASSWORD)

    @pytest.mark.parametrize(
        ("callback_url", "location"),
        [
            ("/new", f"{BASE_URL}/new?%s"),
            ("/new?a=b&c", f"{BASE_URL}/new?a=b&c&%s"),
            ("/new?token=mine&error=mine", f"{BASE_URL}/new?%s"),
            ("http://localhost:3000/new?a=b#part", "http://localhost:3000/new?a=b&%s#part"),
            ("http://127.0.0.1:5173", "http://127.0.0.1:5173?%s"),
        ],
    )
    async def test_leads_on(self, service: Service, callback_url: str, location: str) -> None:
        await join(service)
        token = await reset_token(service)

        valid = await service.get(f"/reset-password/{token}", params={"callbackURL": callback_url})
        invalid = await service.get(f"/reset-password/{UNKNOWN}", params={"callbackURL": callback_url})

        kept = (
            "" if "mine" not in callback_url else "error=mine&",
            "" if "mine" not in callback_url else "token=mine&",
        )
        assert (valid.status_code, valid.headers["location"]) == (302, location % f"{kept[0]}token={token}")
        assert invalid.headers["location"] == location % f"{kept[1]}error=INVALID_TOKEN"
        assert valid.content == b""

    async def test_lies_under_the_base_path(self, make_service: MakeService) -> None:
        service = await make_service({"base_path": "/api/auth"})
        await join(service)
        await service.post("/request-password-reset", {"email": ADA, "redirectTo": "/new"})
        link = await last_link(service, "reset-password")

        answer = await service.get(link)

        assert link.startswith(f"{BASE_URL}/api/auth/reset-password/")
        assert answer.headers["location"] == f"{BASE_URL}/new?token={token_in(link)}"


@pytest.mark.operation("passwords.reset")
class TestReset:
    async def test_replaces_the_password_and_leaves_the_verification_of_the_address(
        self, service: Service
    ) -> None:
        ada = await join(service, username="Ada", image="https://example.com/a")
        verification = await last_link(service, "verify-email")
        user = await user_of(service, ada)
        token = await reset_token(service)

        answer = await reset(service, token)

        assert (answer.status_code, answer.json()) == (200, {"status": True, "user": user})
        assert list(answer.json()) == ["status", "user"]
        assert {"set-cookie", "set-auth-token"}.isdisjoint(answer.headers)
        assert await count(service, Session) == 0
        assert await opens(service, NEW_PASSWORD)
        assert not await opens(service, PASSWORD)
        [mail] = await service.inbox(template="password-changed")
        assert (mail["to"], mail["link"], mail["code"]) == (ADA, None, None)
        assert not (await stored_user(service)).email_verified
        assert code(await service.get(local(verification))) == "401 INVALID_TOKEN"

    @pytest.mark.threat("V16", "V35")
    @pytest.mark.parametrize("is_verified", [True, False])
    async def test_ends_every_session_of_this_user(self, service: Service, is_verified: bool) -> None:
        eve = await join(service, EVE)
        phone, laptop = await join(service), bearer((await sign_in(service)).json()["token"])
        await set_user(service, email_verified=is_verified)

        await reset(service, await reset_token(service))

        assert [await works(service, headers) for headers in (phone, laptop, eve)] == [False, False, True]

    async def test_leaves_sessions_alone_where_it_is_told_to(self, make_service: MakeService) -> None:
        service = await make_service({"password_reset.revoke_sessions": "false"})
        ada = await join(service)
        await verify(service)

        await reset(service, await reset_token(service))

        assert await works(service, ada)
        assert await opens(service, NEW_PASSWORD)

    async def test_tells_nobody_where_notices_are_off(self, make_service: MakeService) -> None:
        service = await make_service({"send_email_notifications": "false"})
        ada = await join(service)

        await change(service, ada)
        await reset(service, await reset_token(service))

        assert await service.inbox(template="password-changed") == []

    @pytest.mark.threat("V82")
    async def test_earlier_links_work_until_one_is_used(self, service: Service) -> None:
        await join(service)
        first, second = await reset_token(service), await reset_token(service)

        looked_at = await service.get(f"/reset-password/{first}")
        used = await reset(service, first)
        again = [await reset(service, token, "yet another password") for token in (first, second)]

        assert (looked_at.status_code, used.status_code) == (200, 200)
        assert [refusal(answer) for answer in again] == [INVALID_TOKEN] * 2
        assert refusal(await service.get(f"/reset-password/{first}")) == INVALID_TOKEN
        assert await opens(service, NEW_PASSWORD)

    @pytest.mark.threat("V82")
    async def test_takes_the_other_tokens_along(self, make_service: MakeService) -> None:
        service = await make_service(
            {"delete_user.confirm_by_mail": "true", "password_reset.revoke_sessions": "false"}
        )
        ada, eve = await join(service), await join(service, EVE)
        for email in (ADA, EVE):
            await verify(service, email)
        deletion, new_address = await deletion_token(service, ada), await change_token(service, ada)
        other = await reset_token(service, EVE)

        await reset(service, await reset_token(service))

        deleted = await service.get("/delete-user/callback", params={"token": deletion}, headers=ada)
        changed = await service.get("/verify-email", params={"token": new_address})
        assert (code(deleted), code(changed)) == ("404 INVALID_TOKEN", "401 INVALID_TOKEN")
        assert (await reset(service, other)).status_code == 200
        assert await works(service, eve)

    async def test_gives_a_first_password_to_who_had_none(self, service: Service) -> None:
        await join(service)
        await remove_passwords(service)

        answer = await reset(service, await reset_token(service))

        assert answer.status_code == 200
        assert await opens(service, NEW_PASSWORD)
        [row] = await service.rows("SELECT provider_id, issuer, account_id, user_id FROM account")
        assert (row.provider_id, row.issuer, row.account_id) == ("credential", "", row.user_id)

    @pytest.mark.both_databases
    async def test_of_simultaneous_first_passwords_each_with_its_own_token_one_counts(
        self, service: Service
    ) -> None:
        await join(service)
        tokens = [await reset_token(service) for _ in range(5)]
        await remove_passwords(service)

        answers = await asyncio.gather(*(reset(service, token) for token in tokens))

        assert sorted(map(code, answers)) == ["200"] + ["400 INVALID_TOKEN"] * 4
        assert await count(service, Account) == 1

    async def test_refuses_in_this_order(self, service: Service) -> None:
        await join(service)
        token = await reset_token(service)
        bodies = [
            {"newPassword": "x"},
            {"newPassword": "x", "token": ""},
            {"newPassword": "x" * 1025, "token": UNKNOWN},
            {"newPassword": "x", "token": UNKNOWN},
            {"newPassword": "password", "token": UNKNOWN},
            {"newPassword": "password", "token": token},
            {"newPassword": NEW_PASSWORD, "token": token},
        ]

        answers = [await service.post("/reset-password", body) for body in bodies]

        assert [code(answer) for answer in answers] == [
            "400 INVALID_TOKEN",
            "400 INVALID_TOKEN",
            "400 PASSWORD_TOO_LONG",
            "400 PASSWORD_TOO_SHORT",
            "400 INVALID_TOKEN",
            "400 PASSWORD_TOO_COMMON",
            "200",
        ]

    @pytest.mark.threat("V84")
    async def test_a_refused_password_burns_no_token(self, service: Service) -> None:
        await join(service, **AUGUSTA)
        token = await reset_token(service, AUGUSTA["email"])
        no_passwords: list[Any] = [None, 1, ["x"], {}, "nul\x00nul" * 2]

        for password, error, message in WRONG_PASSWORDS:
            assert refusal(await reset(service, token, password)) == (400, error, message)
        answers = [await reset(service, token, wrong) for wrong in no_passwords]
        foreign = await service.post(
            "/reset-password",
            {"token": token, "newPassword": NEW_PASSWORD},
            headers={"Origin": "https://evil.test"},
        )

        assert {answer.status_code for answer in answers} == {400}
        assert code(foreign) == "403 INVALID_ORIGIN"
        assert await opens(service, PASSWORD, AUGUSTA["email"])
        assert (await service.get(f"/reset-password/{token}")).status_code == 200
        assert (await reset(service, token)).status_code == 200
        assert await opens(service, NEW_PASSWORD, AUGUSTA["email"])

    @pytest.mark.threat("V23")
    async def test_nothing_but_a_token_in_the_body_resets(self, service: Service) -> None:
        await join(service)
        right = await reset_token(service)
        wrong = ["2fa_" + UNKNOWN, UNKNOWN, "true", "null", " ", "\u00e9" * 32, "0", "%"]

        answers = [await reset(service, token) for token in wrong]
        none = await service.post(
            f"/reset-password?token={right}", {"newPassword": NEW_PASSWORD}, headers=bearer(right)
        )
        null = await reset(service, None)

        assert [refusal(answer) for answer in (*answers, none)] == [INVALID_TOKEN] * 9
        assert code(null) == "400 VALIDATION_ERROR"
        assert await opens(service, PASSWORD)

    @pytest.mark.threat("V33")
    async def test_resets_a_banned_user_who_stays_out(self, service: Service) -> None:
        await join(service)
        token = await reset_token(service)
        await set_user(service, banned=True)

        answer = await reset(service, token)
        again = await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})

        assert answer.json()["user"]["banned"] is True
        assert "set-cookie" not in answer.headers
        assert code(await sign_in(service, password=NEW_PASSWORD)) == "403 BANNED_USER"
        assert code(again) == "422 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
        assert await count(service, Session) == 0


@pytest.mark.operation("passwords.change")
class TestChange:
    async def test_replaces_the_password_and_keeps_every_session(self, service: Service) -> None:
        ada = await join(service)
        verification = await last_link(service, "verify-email")
        other = bearer((await sign_in(service)).json()["token"])

        answer = await change(service, ada)

        assert answer.status_code == 200
        assert list(answer.json()) == ["user", "token"]
        assert answer.json() == {"user": reduced(await user_of(service, ada)), "token": token_of(ada)}
        assert {"set-cookie", "set-auth-token"}.isdisjoint(answer.headers)
        assert [await works(service, headers) for headers in (ada, other)] == [True, True]
        assert await opens(service, NEW_PASSWORD)
        assert not await opens(service, PASSWORD)
        [mail] = await service.inbox(template="password-changed")
        assert (mail["to"], mail["link"]) == (ADA, None)
        assert (await service.get(local(verification))).status_code == 200

    @pytest.mark.parametrize("flag", [True, "TRUE"])
    async def test_ends_all_sessions_for_a_new_one_when_asked_to(
        self, service: Service, flag: bool | str
    ) -> None:
        ada, eve = await join(service), await join(service, EVE)
        other = bearer((await sign_in(service)).json()["token"])

        answer = await change(service, ada, revokeOtherSessions=flag)

        token = answer.json()["token"]
        assert [await works(service, headers) for headers in (ada, other, eve)] == [False, False, True]
        assert await works(service, bearer(token))
        assert answer.headers.get_list("set-cookie") == [
            f"service.session-token={token}; Path=/; SameSite=Lax; Max-Age=604800; HttpOnly; Secure"
        ]
        assert answer.headers["set-auth-token"] == token
        assert len((await service.get("/list-sessions", headers=bearer(token))).json()) == 1

    async def test_the_new_session_is_remembered_no_longer_than_the_old(self, service: Service) -> None:
        ada = await join(service, rememberMe=False)

        answer = await change(service, ada, revokeOtherSessions=True)

        token = answer.json()["token"]
        session = (await service.get("/get-session", headers=bearer(token))).json()["session"]
        assert answer.headers.get_list("set-cookie") == [
            f"service.session-token={token}; Path=/; SameSite=Lax; HttpOnly; Secure"
        ]
        assert session["expiresAt"] == "2026-01-02T12:00:00.000Z"

    async def test_keeps_sessions_when_told_to_and_the_new_one_may_equal_the_old(
        self, service: Service
    ) -> None:
        ada = await join(service)

        for flag in (False, "false"):
            answer = await change(service, ada, newPassword=PASSWORD, revokeOtherSessions=flag)
            assert (answer.status_code, answer.json()["token"]) == (200, token_of(ada))
        assert await works(service, ada)
        assert await opens(service, PASSWORD)

    async def test_refuses_a_new_password(self, service: Service) -> None:
        augusta = await join(service, **AUGUSTA)

        for password, error, message in WRONG_PASSWORDS:
            assert refusal(await change(service, augusta, newPassword=password)) == (400, error, message)
        assert await opens(service, PASSWORD, AUGUSTA["email"])

    async def test_refuses_in_this_order(self, service: Service) -> None:
        ada = await join(service)

        lengths = [
            await change(service, ada, newPassword=new, currentPassword="wrong") for new in ("x" * 129, "x")
        ]
        wrong = await change(
            service, ada, newPassword="password", currentPassword="wrong", revokeOtherSessions=True
        )
        common = await change(service, ada, newPassword="password")
        notices = await service.inbox(template="password-changed")
        await remove_passwords(service)
        too_short = await change(service, ada, newPassword="x")
        passwordless = await change(service, ada, newPassword="password")

        assert [code(answer) for answer in lengths] == ["400 PASSWORD_TOO_LONG", "400 PASSWORD_TOO_SHORT"]
        assert refusal(wrong) == (400, "INVALID_PASSWORD", "Invalid password")
        assert code(common) == "400 PASSWORD_TOO_COMMON"
        assert code(too_short) == "400 PASSWORD_TOO_SHORT"
        assert refusal(passwordless) == (
            400,
            "CREDENTIAL_ACCOUNT_NOT_FOUND",
            "Credential account not found",
        )
        assert notices == []
        assert await works(service, ada)

    @pytest.mark.threat("V23")
    async def test_wants_the_current_one(self, service: Service) -> None:
        ada = await join(service)
        guesses: list[dict[str, Any]] = [
            {}, {"currentPassword": ""}, {"currentPassword": NEW_PASSWORD}, {"currentPassword": None},
            {"currentPassword": True}, {"password": PASSWORD}, {"token": UNKNOWN},
        ]  # fmt: skip

        answers = [
            await service.post("/change-password", {"newPassword": NEW_PASSWORD, **guess}, headers=ada)
            for guess in guesses
        ]

        assert refusal(answers[0]) == (400, "VALIDATION_ERROR", "[body.currentPassword] is required")
        assert {answer.status_code for answer in answers} == {400}
        assert await opens(service, PASSWORD)

    async def test_need_not_be_told_the_current_one_where_that_is_not_required(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"require_current_password": "false"})
        ada = await join(service)

        wrong = [await change(service, ada, currentPassword=wrong) for wrong in ("wrong", "")]
        right = await change(service, ada, newPassword="the second password")
        missing = await service.post("/change-password", {"newPassword": NEW_PASSWORD}, headers=ada)
        null = await change(service, ada, currentPassword=None)
        opened = await opens(service, NEW_PASSWORD)
        await remove_passwords(service)
        passwordless = await service.post("/change-password", {"newPassword": NEW_PASSWORD}, headers=ada)

        assert [code(answer) for answer in wrong] == ["400 INVALID_PASSWORD"] * 2
        assert (right.status_code, missing.status_code, opened) == (200, 200, True)
        assert code(null) == "400 VALIDATION_ERROR"
        assert code(passwordless) == "400 CREDENTIAL_ACCOUNT_NOT_FOUND"

    @pytest.mark.threat("V82")
    async def test_takes_the_tokens_of_this_user_along(self, make_service: MakeService) -> None:
        service = await make_service({"delete_user.confirm_by_mail": "true"})
        ada = await join(service)
        await join(service, EVE)
        await verify(service)
        tokens = [
            await deletion_token(service, ada),
            await change_token(service, ada),
            await reset_token(service),
        ]
        other = await reset_token(service, EVE)

        await change(service, ada)

        deleted = await service.get("/delete-user/callback", params={"token": tokens[0]}, headers=ada)
        changed = await service.get("/verify-email", params={"token": tokens[1]})
        assert [code(a) for a in (deleted, changed, await reset(service, tokens[2]))] == [
            "404 INVALID_TOKEN",
            "401 INVALID_TOKEN",
            "400 INVALID_TOKEN",
        ]
        assert (await service.get(f"/reset-password/{other}")).status_code == 200

    @pytest.mark.both_databases
    async def test_of_simultaneous_ones_one_counts(self, make_service: MakeService) -> None:
        service = await make_service({"limits.failures": "0"})
        ada = await join(service)
        wanted = [f"the password of number {n}" for n in range(8)]

        answers = await asyncio.gather(*(change(service, ada, newPassword=password) for password in wanted))

        assert sorted(map(code, answers)) == ["200"] + ["400 INVALID_PASSWORD"] * 7
        winner = [answer.status_code for answer in answers].index(200)
        assert [await opens(service, password) for password in wanted] == [n == winner for n in range(8)]

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("settings", "body", "told", "verified", "hashed"),
        [
            pytest.param({}, {"newPassword": PASSWORD}, {"200": 20}, 20, 0, id="the old password"),
            pytest.param(
                {}, {}, {"200": 1, "400 INVALID_PASSWORD": 10, "429 TOO_MANY_REQUESTS": 9}, 39, 20, id="a new one"
            ),
            pytest.param(
                {"require_current_password": "false"}, {"currentPassword": ...}, {"200": 20}, 0, 20, id="none told"
            ),
        ],
    )  # fmt: skip
    async def test_many_at_once_are_all_answered_and_hash_once_each(
        self,
        make_service: MakeService,
        settings: dict[str, str],
        body: dict[str, Any],
        told: dict[str, int],
        verified: int,
        hashed: int,
    ) -> None:
        service = await make_service(settings)
        ada = await join(service)
        sent = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, **body}
        sent = {name: value for name, value in sent.items() if value is not ...}

        with counted(service) as work:
            answers = await asyncio.gather(
                *(service.post("/change-password", sent, headers=ada) for _ in range(20))
            )

        assert Counter(code(answer) for answer in answers) == told
        assert work.done.count("verify") <= verified
        assert work.done.count("hash") <= hashed

    async def test_hashes_once_where_the_stored_hash_was_replaced_meanwhile(self, service: Service) -> None:
        """A sign-in replaces the hash of an older policy while the new password is hashed."""
        ada = await join(service)
        older = await service.services.hasher.hash(PASSWORD)

        with counted(service, while_hashing=lambda: set_hash(service, older)) as work:
            answer = await change(service, ada)

        assert answer.status_code == 200
        assert (work.done.count("verify"), work.done.count("hash")) == (2, 1)
        assert await opens(service, NEW_PASSWORD)

    async def test_checks_an_imported_hash(self, service: Service) -> None:
        ada = await join(service)
        bcrypt = "$2b$04$Dx2..RDjxgi7rqiTXw7ZGOz6UnlFx68pW4XZ6uaVSUBP3jP0m/6Vi"
        await set_hash(service, bcrypt)

        wrong = await change(service, ada)
        right = await change(service, ada, currentPassword="P\u00e4ssword \u2460\ufb01 correct")

        assert (code(wrong), right.status_code) == ("400 INVALID_PASSWORD", 200)


@pytest.mark.operation("passwords.verify")
class TestVerify:
    async def test_confirms_the_right_one(self, service: Service) -> None:
        ada = await join(service)

        answer = await service.post("/verify-password", {"password": PASSWORD}, headers=ada)

        assert (answer.status_code, answer.json()) == (200, {"status": True})

    async def test_a_wrong_one_and_none_at_all_look_alike(self, service: Service) -> None:
        ada = await join(service)

        async def verify_password(password: str) -> Any:
            return await service.post("/verify-password", {"password": password}, headers=ada)

        wrong = [
            await verify_password(p) for p in ("wrong", "", "x" * 1025, PASSWORD.upper(), PASSWORD + " ")
        ]
        await set_hash(service, None)
        empty = await verify_password(PASSWORD)
        await remove_passwords(service)
        none = await verify_password(PASSWORD)

        assert refusal(wrong[0]) == (400, "INVALID_PASSWORD", "Invalid password")
        assert [looks(answer) for answer in (*wrong, empty, none)] == [looks(wrong[0])] * 7
