"""The operations of openapi/paths/emails.yaml, through the public door."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from models import Session
from tests.conftest import Headers, MakeService
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    UNKNOWN,
    bearer,
    change_token,
    code,
    count,
    join,
    last_link,
    local,
    looks,
    opens,
    reduced,
    refusal,
    reset_token,
    set_user,
    token_in,
    until_blocked,
    user_of,
    verify,
    works,
)
from tests.security import second_factor
from tests.service import BASE_URL, PASSWORD, Service

ACCEPTED = {"status": True, "message": "Email updated", "verificationSent": False}
SENT = {"status": True, "message": "Email updated", "verificationSent": True}
INVALID_TOKEN = (401, "INVALID_TOKEN", "Invalid token")
NOT_ENABLED = (400, "VERIFICATION_EMAIL_NOT_ENABLED", "Verification email isn't enabled")


async def ask(service: Service, email: str = ADA, headers: Headers | None = None, **more: Any) -> Any:
    return await service.post("/send-verification-email", {"email": email, **more}, headers=headers)


async def change(service: Service, headers: Headers, new: str = NEW_ADDRESS, **more: Any) -> Any:
    return await service.post("/change-email", {"newEmail": new, **more}, headers=headers)


async def follow(service: Service, token: str, headers: Headers | None = None, **more: str) -> Any:
    return await service.get("/verify-email", params={"token": token, **more}, headers=headers)


async def join_verified(service: Service, email: str = ADA) -> Headers:
    """Make a user whose address is verified."""
    headers = await join(service, email)
    await verify(service, email)
    return headers


@pytest.mark.operation("emails.send_verification")
class TestSendVerification:
    async def test_mails_the_caller(self, service: Service) -> None:
        ada = await join(service)
        before = await service.inbox()

        answer = await ask(service, "ADA@example.com", ada, callbackURL="/welcome")

        [mail] = [mail for mail in await service.inbox() if mail not in before]
        assert (answer.status_code, answer.json()) == (200, {"status": True})
        assert (mail["template"], mail["to"]) == ("verify-email", ADA)
        assert mail["link"] == (
            f"{BASE_URL}/verify-email?token={token_in(mail['link'])}&callbackURL=%2Fwelcome"
        )

    async def test_tells_the_caller_what_there_is_not_to_verify(self, service: Service) -> None:
        ada = await join(service)
        await join(service, EVE)
        mails = await service.inbox()

        others = [await ask(service, email, ada) for email in (EVE, "nobody@example.com")]
        sent = await service.inbox()
        await verify(service)
        verified = await ask(service, headers=ada)

        assert [refusal(answer) for answer in others] == [(400, "EMAIL_MISMATCH", "Email mismatch")] * 2
        assert refusal(verified) == (400, "EMAIL_ALREADY_VERIFIED", "Email is already verified")
        assert sent == mails == await service.inbox()

    @pytest.mark.threat("V70")
    async def test_answers_strangers_alike_and_mails_only_who_is_unverified(self, service: Service) -> None:
        await join_verified(service, EVE)
        await join(service)
        before = await service.inbox()

        answers = [await ask(service, email) for email in ("Ada@Example.com", EVE, "nobody@example.com")]

        assert (answers[0].status_code, answers[0].json()) == (200, {"status": True})
        assert [looks(answer) for answer in answers] == [looks(answers[0])] * 3
        assert [m["to"] for m in await service.inbox() if m not in before] == [ADA]

    async def test_an_invalid_session_counts_as_none(self, service: Service) -> None:
        await join(service)

        for headers in (
            bearer(UNKNOWN),
            {"Authorization": "Bearer"},
            {"Cookie": f"service.session-token={UNKNOWN}"},
        ):
            answer = await ask(service, EVE, headers)
            assert answer.json() == {"status": True}
            assert ("Max-Age=0" in answer.headers.get("set-cookie", "")) == ("Cookie" in headers)

    async def test_a_stranger_only_files_the_wish_and_its_mail_carries_where_to_go(
        self, service: Service
    ) -> None:
        await join(service)
        await service.inbox()

        await ask(service, callbackURL="http://localhost:3000/x?y#z")
        await ask(service, "nobody@example.com")

        filed = await service.rows("SELECT user_id FROM outbox WHERE state = 'unresolved'")
        assert [row.user_id for row in filed] == [None, None]
        assert len(await service.rows("SELECT 1 FROM \"grant\" WHERE purpose = 'verify'")) == 1
        link = await last_link(service, "verify-email")
        assert link.endswith("&callbackURL=http%3A%2F%2Flocalhost%3A3000%2Fx%3Fy%23z")
        answer = await service.get(local(link))
        assert answer.headers["location"] == "http://localhost:3000/x?y#z"

    @pytest.mark.threat("V10")
    async def test_no_header_tells_the_link_where_to_lead(self, make_service: MakeService) -> None:
        service = await make_service({"limits.mail_burst": "0"})
        ada = await join(service)

        for headers in (ada, {}):
            for name in ("Host", "X-Forwarded-Host", "X-Original-Host"):
                await ask(service, headers={**headers, name: "evil.test"})

        mails = await service.inbox(template="verify-email")
        assert len(mails) == 7
        assert all(mail["link"].startswith(f"{BASE_URL}/account/verify-email?token=") for mail in mails)


@pytest.mark.operation("emails.verify")
class TestVerify:
    async def test_verifies_the_address_and_no_other_method_does(self, service: Service) -> None:
        ada = await join(service)
        link = local(await last_link(service, "verify-email"))
        service.clock.advance(minutes=1)
        for method in ("HEAD", "OPTIONS", "POST"):
            await service.client.request(method, link)
        before = await user_of(service, ada)

        answer = await service.get(link)

        after = await user_of(service, ada)
        assert answer.status_code == 200
        assert list(answer.json()) == ["user", "status"]
        assert answer.json() == {"user": reduced(after), "status": True}
        assert before["emailVerified"] is False
        assert after == {**before, "emailVerified": True, "updatedAt": "2026-01-01T12:01:00.000Z"}
        assert {"set-cookie", "set-auth-token"}.isdisjoint(answer.headers)
        assert await count(service, Session) == 1

    async def test_opened_again_gives_the_same_answer(self, service: Service) -> None:
        await join(service)
        link = local(await last_link(service, "verify-email"))

        first = await service.get(link)
        service.clock.advance(minutes=59)
        again = await asyncio.gather(*(service.get(link) for _ in range(5)))

        assert [answer.json() for answer in again] == [first.json()] * 5

    @pytest.mark.threat("V82")
    @pytest.mark.parametrize("minutes", [60, 5])
    async def test_expires(self, make_service: MakeService, minutes: int) -> None:
        service = await make_service(
            {"email_verification.token_expires_in": f"{minutes}m"} if minutes != 60 else {}
        )
        ada = await join(service)
        token = token_in(await last_link(service, "verify-email"))

        service.clock.advance(minutes=minutes)
        answer = await follow(service, token)
        led = await follow(service, token, callbackURL="/welcome?error=mine&a=b")

        assert refusal(answer) == (401, "TOKEN_EXPIRED", "Token expired")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert led.headers["location"] == f"{BASE_URL}/welcome?a=b&error=TOKEN_EXPIRED"
        assert (await user_of(service, ada))["emailVerified"] is False

    async def test_refuses_an_unknown_token(self, service: Service) -> None:
        for token in (UNKNOWN, "", "x", "\u00e9", "rvk_" + UNKNOWN, "undefined"):
            assert refusal(await follow(service, token)) == INVALID_TOKEN
            led = await follow(service, token, callbackURL="/welcome")
            assert (led.status_code, led.headers["location"]) == (
                302,
                f"{BASE_URL}/welcome?error=INVALID_TOKEN",
            )

    async def test_wants_one_token(self, service: Service) -> None:
        await join(service)
        token = token_in(await last_link(service, "verify-email"))

        missing = await service.get("/verify-email?callbackURL=/welcome")
        twice = await service.get(f"/verify-email?token={token}&token={token}")
        two_callbacks = await service.get(f"/verify-email?token={token}&callbackURL=/a&callbackURL=/b")

        assert refusal(missing) == (400, "VALIDATION_ERROR", "[query.token] is required")
        assert [code(answer) for answer in (twice, two_callbacks)] == ["400 VALIDATION_ERROR"] * 2

    @pytest.mark.threat("V1")
    async def test_leads_on_and_nowhere_else(self, service: Service) -> None:
        ada = await join(service)
        token = token_in(await last_link(service, "verify-email"))

        untrusted = await follow(service, token, callbackURL="https://evil.test")
        between = await user_of(service, ada)
        absolute = await follow(service, token, callbackURL="http://localhost:3000/welcome?a=b#c")
        relative = await follow(service, token, callbackURL="/welcome")
        empty = await follow(service, token, callbackURL="")

        assert refusal(untrusted) == (403, "INVALID_CALLBACK_URL", "Invalid callbackURL")
        assert between["emailVerified"] is False
        assert absolute.status_code == 302
        assert absolute.headers["location"] == "http://localhost:3000/welcome?a=b#c"
        assert relative.headers["location"] == f"{BASE_URL}/welcome"
        assert empty.json()["status"] is True
        assert (await user_of(service, ada))["emailVerified"] is True

    async def test_works_whoever_is_signed_in(self, service: Service) -> None:
        ada, eve = await join(service), await join(service, EVE)
        token = token_in(await last_link(service, "verify-email", ADA))

        answer = await follow(service, token, eve)

        assert answer.json()["user"]["email"] == ADA
        assert [(await user_of(service, headers))["emailVerified"] for headers in (ada, eve)] == [True, False]

    @pytest.mark.threat("V82", "V21", "V32")
    async def test_is_bound_to_the_address_it_was_sent_to(self, service: Service) -> None:
        ada = await join(service)
        token = token_in(await last_link(service, "verify-email"))

        await change(service, ada)
        moved = await follow(service, token)
        await change(service, ada, ADA)
        back_again = await follow(service, token)

        assert [refusal(answer) for answer in (moved, back_again)] == [INVALID_TOKEN] * 2
        assert (await user_of(service, ada))["emailVerified"] is False

    @pytest.mark.threat("V82")
    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"])
    async def test_verifies_no_address_that_takes_its_place_meanwhile(self, service: Service) -> None:
        ada = await join(service)
        token = token_in(await last_link(service, "verify-email"))

        async with service.services.database.transaction() as session:
            await session.execute(text('UPDATE "user" SET email = :new').bindparams(new=NEW_ADDRESS))
            verifying = asyncio.create_task(follow(service, token))
            await until_blocked(service)

        assert refusal(await verifying) == INVALID_TOKEN
        user = await user_of(service, ada)
        assert (user["email"], user["emailVerified"]) == (NEW_ADDRESS, False)


class TestChangeLink:
    async def test_changes_the_address_and_keeps_the_sessions(self, service: Service) -> None:
        ada = await join(service)
        await verify(service)
        before = await user_of(service, ada)
        token = await change_token(service, ada)
        between = await user_of(service, ada)
        service.clock.advance(minutes=1)

        answer = await follow(service, token)

        after = await user_of(service, ada)
        assert between == before
        assert answer.json() == {"user": reduced(after), "status": True}
        assert after == {**before, "email": NEW_ADDRESS, "updatedAt": "2026-01-01T12:01:00.000Z"}
        assert after["emailVerified"] is True
        assert {"set-cookie", "set-auth-token"}.isdisjoint(answer.headers)
        assert [await opens(service, PASSWORD, email) for email in (NEW_ADDRESS, ADA)] == [True, False]
        [mail] = await service.inbox(template="email-changed")
        assert (mail["to"], mail["link"]) == (ADA, None)

    async def test_tells_nobody_where_notices_are_off(self, make_service: MakeService) -> None:
        service = await make_service({"send_email_notifications": "false"})
        ada = await join_verified(service)
        await follow(service, await change_token(service, ada))

        assert await service.inbox(template="email-changed") == []

    @pytest.mark.threat("V8", "V82")
    async def test_works_once_whatever_was_tried_before(self, service: Service) -> None:
        ada = await join_verified(service)
        token = await change_token(service, ada)

        for method in ("HEAD", "OPTIONS", "POST"):
            await service.client.request(method, f"/verify-email?token={token}")
        untrusted = await follow(service, token, callbackURL="//evil.test")
        between = await user_of(service, ada)
        first, second = await follow(service, token, bearer(UNKNOWN)), await follow(service, token)

        assert code(untrusted) == "403 INVALID_CALLBACK_URL"
        assert between["email"] == ADA
        assert first.status_code == 200
        assert refusal(second) == INVALID_TOKEN

    @pytest.mark.threat("V21")
    async def test_opens_under_the_owner_s_session_and_no_other(self, service: Service) -> None:
        eve, ada = await join(service, EVE), await join_verified(service)
        token = await change_token(service, ada)

        answer = await follow(service, token, eve)
        led = await follow(service, token, eve, callbackURL="/x")
        mine = await follow(service, token, ada, callbackURL="/x?a=b")

        assert refusal(answer) == (401, "INVALID_USER", "Invalid user")
        assert led.headers["location"] == f"{BASE_URL}/x?error=INVALID_USER"
        assert "set-cookie" not in answer.headers
        assert mine.headers["location"] == f"{BASE_URL}/x?a=b"
        assert (await user_of(service, ada))["email"] == NEW_ADDRESS

    async def test_expires(self, service: Service) -> None:
        ada = await join_verified(service)
        token = await change_token(service, ada)

        service.clock.advance(hours=1)

        assert refusal(await follow(service, token)) == (401, "TOKEN_EXPIRED", "Token expired")
        assert (await user_of(service, ada))["email"] == ADA

    async def test_is_worth_nothing_once_the_address_is_taken(self, service: Service) -> None:
        ada = await join_verified(service)
        token = await change_token(service, ada)
        await join(service, NEW_ADDRESS)

        answer = await follow(service, token)
        led = await follow(service, token, callbackURL="/x")

        assert refusal(answer) == INVALID_TOKEN
        assert led.headers["location"] == f"{BASE_URL}/x?error=INVALID_TOKEN"
        assert (await user_of(service, ada))["email"] == ADA

    @pytest.mark.both_databases
    async def test_of_two_users_who_claim_one_address_one_gets_it(self, service: Service) -> None:
        tokens = [
            await change_token(service, await join_verified(service, f"u{n}@example.com")) for n in range(4)
        ]

        answers = await asyncio.gather(*(follow(service, token) for token in tokens))

        assert sorted(map(code, answers)) == ["200"] + ["401 INVALID_TOKEN"] * 3
        assert len(await service.rows('SELECT id FROM "user" WHERE email = :email', email=NEW_ADDRESS)) == 1

    @pytest.mark.threat("V82", "V21")
    async def test_takes_the_tokens_of_the_old_address_along(self, make_service: MakeService) -> None:
        service = await make_service({"delete_user.confirm_by_mail": "true"})
        ada = await join(service)
        verification = token_in(await last_link(service, "verify-email"))
        await follow(service, verification)
        await service.post("/delete-user", headers=ada)
        deletion = token_in(await last_link(service, "delete-account"))
        reset = await reset_token(service)

        await follow(service, await change_token(service, ada))

        resetting = await service.post("/reset-password", {"token": reset, "newPassword": PASSWORD})
        deleting = await service.get("/delete-user/callback", params={"token": deletion}, headers=ada)
        verifying = await follow(service, verification)
        assert [code(answer) for answer in (resetting, deleting, verifying)] == [
            "400 INVALID_TOKEN",
            "404 INVALID_TOKEN",
            "401 INVALID_TOKEN",
        ]
        assert await works(service, ada)

    async def test_takes_the_codes_of_the_old_address_along(self, service: Service) -> None:
        ada = (await second_factor.enrol(service)).session
        change_link = await change_token(service, ada)
        pending = bearer(await second_factor.challenge(service))
        mailed = [(await second_factor.mailed_code(service, headers), headers) for headers in (pending, ada)]

        await follow(service, change_link)

        answers = [await second_factor.enter(service, "otp", digits, headers) for digits, headers in mailed]
        newer = await second_factor.mailed_code(service, pending, NEW_ADDRESS)
        assert [code(answer) for answer in answers] == ["400 OTP_HAS_EXPIRED"] * 2
        assert code(await second_factor.enter(service, "otp", newer, pending)) == "200"


@pytest.mark.operation("emails.change")
class TestChange:
    @pytest.mark.both_databases
    @pytest.mark.threat("V82")
    async def test_an_unverified_address_is_replaced_at_once(self, service: Service) -> None:
        ada = await join(service)
        reset = await reset_token(service)
        before = await user_of(service, ada)
        service.clock.advance(minutes=1)

        answer = await change(service, ada, "Ada.King@Example.com", callbackURL="/welcome")

        after = await user_of(service, ada)
        assert (answer.status_code, answer.json()) == (200, ACCEPTED)
        assert list(answer.json()) == ["status", "message", "verificationSent"]
        assert after == {**before, "email": NEW_ADDRESS, "updatedAt": "2026-01-01T12:01:00.000Z"}
        assert (await service.get(f"/reset-password/{reset}")).status_code == 400
        [notice] = await service.inbox(template="email-changed")
        [verification] = await service.inbox(NEW_ADDRESS)
        assert notice["to"] == ADA
        assert verification["template"] == "verify-email"
        assert verification["link"].endswith("&callbackURL=%2Fwelcome")
        assert (await follow(service, token_in(verification["link"]))).json()["user"]["emailVerified"] is True
        assert (await user_of(service, await join(service, ADA)))["id"] != after["id"], "the old one is free"

    async def test_an_immediate_change_takes_the_codes_of_the_old_address_along(
        self, service: Service
    ) -> None:
        ada = await join(service)
        await second_factor.begin(service, ada)
        mailed = await second_factor.mailed_code(service, ada)

        await change(service, ada)

        answer = await second_factor.enter(service, "otp", mailed, ada)
        assert code(answer) == "400 OTP_HAS_EXPIRED"
        assert (await user_of(service, ada))["twoFactorEnabled"] is False

    @pytest.mark.threat("V32")
    async def test_a_verified_address_waits_for_the_link(self, service: Service) -> None:
        ada = await join(service)
        await verify(service)
        before = await service.inbox()

        answer = await change(service, ada, "Ada.King@Example.com", callbackURL="/settings")

        [mail] = [mail for mail in await service.inbox() if mail not in before]
        assert (answer.status_code, answer.json()) == (200, SENT)
        assert (await user_of(service, ada))["email"] == ADA
        assert (mail["template"], mail["to"]) == ("change-email", NEW_ADDRESS)
        assert mail["link"] == (
            f"{BASE_URL}/verify-email?token={token_in(mail['link'])}&callbackURL=%2Fsettings"
        )

    async def test_an_unverified_address_waits_too_where_it_is_told_to(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"change_email.immediate_if_unverified": "false"})
        ada = await join(service)

        token = await change_token(service, ada)

        assert (await user_of(service, ada))["email"] == ADA
        assert (await follow(service, token)).json()["user"]["emailVerified"] is True

    @pytest.mark.threat("V21", "V70", "V82")
    async def test_a_newer_request_kills_the_older_link_though_the_newer_address_is_taken(
        self, service: Service
    ) -> None:
        await join(service, EVE)
        ada = await join_verified(service)
        oldest = await change_token(service, ada, "oldest@example.com")
        older = await change_token(service, ada, "older@example.com")
        killed = await follow(service, oldest)

        await change(service, ada, EVE)

        assert [refusal(answer) for answer in (killed, await follow(service, older))] == [INVALID_TOKEN] * 2
        newest = await change_token(service, ada, "newest@example.com")
        assert (await follow(service, newest)).json()["user"]["email"] == "newest@example.com"

    @pytest.mark.both_databases
    async def test_of_simultaneous_requests_one_link_lives(self, service: Service) -> None:
        ada = await join_verified(service)

        await asyncio.gather(*(change(service, ada, f"new{n}@example.com") for n in range(6)))

        mails = await service.inbox(template="change-email")
        answers = [await follow(service, token_in(mail["link"])) for mail in mails]
        assert len(mails) == 6
        assert sorted(map(code, answers)) == ["200"] + ["401 INVALID_TOKEN"] * 5

    @pytest.mark.threat("V70")
    async def test_an_address_of_somebody_else_answers_alike_and_has_no_effect(
        self, service: Service
    ) -> None:
        await join(service, EVE)
        unverified, verified = await join(service), await join_verified(service, "bob@example.com")
        mails = await service.inbox()

        answers = [await change(service, headers, "EVE@example.com") for headers in (unverified, verified)]
        after = await service.inbox()
        emails = [(await user_of(service, headers))["email"] for headers in (unverified, verified)]
        free = [
            await change(service, unverified, "free@example.com"),
            await change(service, verified, NEW_ADDRESS),
        ]

        assert [looks(answer) for answer in answers] == [looks(answer) for answer in free]
        assert after == mails
        assert emails == [ADA, "bob@example.com"]

    @pytest.mark.both_databases
    async def test_of_simultaneous_immediate_changes_to_one_address_one_counts(
        self, service: Service
    ) -> None:
        callers = [await join(service, f"u{n}@example.com") for n in range(5)]

        answers = await asyncio.gather(*(change(service, headers) for headers in callers))

        assert [answer.json() for answer in answers] == [ACCEPTED] * 5
        emails = [(await user_of(service, headers))["email"] for headers in callers]
        assert emails.count(NEW_ADDRESS) == 1
        assert len(await service.inbox(template="email-changed")) == 1

    async def test_refuses_the_same_address(self, service: Service) -> None:
        ada = await join(service)

        answer = await change(service, ada, "ADA@example.com")

        assert refusal(answer) == (400, "VALIDATION_ERROR", "Email is the same")
        assert answer.json()["fields"] == [{"in": "body", "name": "newEmail", "message": "Email is the same"}]

    async def test_can_be_switched_off(self, make_service: MakeService) -> None:
        service = await make_service({"change_email.enabled": "false"})
        ada = await join(service)

        answers = [await change(service, ada, new) for new in (NEW_ADDRESS, ADA)]

        assert [refusal(answer) for answer in answers] == [
            (400, "CHANGE_EMAIL_DISABLED", "Change email is disabled")
        ] * 2

    async def test_needs_a_sender_for_a_link_and_says_so_before_it_looks(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"mail.sender": "none"})
        ada = await join(service)
        await join(service, EVE)
        await set_user(service, email_verified=True)

        answers = [await change(service, ada, new) for new in (NEW_ADDRESS, EVE)]
        same = await change(service, ada, ADA)

        assert [refusal(answer) for answer in answers] == [NOT_ENABLED] * 2
        assert refusal(same)[2] == "Email is the same"

    async def test_needs_no_sender_to_change_at_once(self, make_service: MakeService) -> None:
        service = await make_service({"mail.sender": "none"})
        ada = await join(service)

        answer = await change(service, ada)

        assert answer.json() == ACCEPTED
        assert (await user_of(service, ada))["email"] == NEW_ADDRESS
        assert await service.inbox() == []

    async def test_asks_for_no_verification_where_that_is_off(self, make_service: MakeService) -> None:
        service = await make_service({"email_verification.enabled": "false"})
        ada = await join(service)

        await change(service, ada)
        await set_user(service, NEW_ADDRESS, email_verified=True)
        await change(service, ada, "third@example.com")

        assert sorted((m["template"], m["to"]) for m in await service.inbox()) == [
            ("change-email", "third@example.com"),
            ("email-changed", ADA),
        ]

    @pytest.mark.threat("V82")
    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"])
    @pytest.mark.parametrize("path", ["/request-password-reset", "/send-verification-email"])
    async def test_no_link_that_is_made_meanwhile_goes_to_the_old_address(
        self, service: Service, path: str
    ) -> None:
        await join(service)
        before = await service.inbox()
        await service.post(path, {"email": ADA})

        async with service.services.database.transaction() as session:
            await session.execute(text('UPDATE "user" SET email = :new').bindparams(new=NEW_ADDRESS))
            await session.execute(text('DELETE FROM "grant"'))
            resolving = asyncio.create_task(service.inbox())
            await until_blocked(service)

        assert await resolving == before
        assert await service.rows('SELECT purpose FROM "grant" WHERE user_id IS NOT NULL') == []
