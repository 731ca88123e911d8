"""The operations of openapi/paths/email_codes.yaml, through the public door."""

import asyncio
import json
from typing import Any

import pytest

from models import User
from tests.conftest import MakeService
from tests.handlers.mailed import (
    BY_MAIL,
    GRACE,
    TEMPLATES,
    checked,
    code_for,
    events,
    link_to,
    open_link,
    use_code,
    wrong,
)
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    NEW_PASSWORD,
    bearer,
    code,
    count,
    execute,
    join,
    looks,
    opens,
    reduced,
    set_user,
    sign_in,
    user_of,
    works,
)
from tests.service import PASSWORD, Service


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with links and codes."""
    return await make_service(BY_MAIL)


@pytest.mark.operation(
    "email_codes.check", "email_codes.send", "email_codes.sign_in", "email_codes.verify_email"
)
class TestCodes:
    @pytest.mark.threat("M11")
    async def test_signs_in_once(self, service: Service) -> None:
        await join(service)
        digits = await code_for(service)

        assert await checked(service, digits, "Ada@Example.com") == "200"
        answer = await use_code(service, digits, "ADA@EXAMPLE.COM")

        body = answer.json()
        user = await user_of(service, bearer(body["token"]))
        assert (user["email"], await count(service, User)) == (ADA, 1)
        assert body == {"token": body["token"], "user": reduced(user)}
        assert answer.headers["set-auth-token"] == body["token"]
        assert code(await use_code(service, digits)) == "400 INVALID_OTP"

    async def test_creates_a_user(self, service: Service) -> None:
        digits = await code_for(service, GRACE)

        body = (await use_code(service, digits, GRACE, name="Grace", image="https://a.test/b.png")).json()

        user = await user_of(service, bearer(body["token"]))
        made = (user["name"], user["image"], user["emailVerified"])
        assert made == ("Grace", "https://a.test/b.png", True)

    @pytest.mark.threat("M10")
    @pytest.mark.parametrize("kind", TEMPLATES)
    async def test_three_attempts(self, service: Service, kind: str) -> None:
        await join(service)
        digits = await code_for(service, ADA, kind)

        answers = [await checked(service, wrong(digits), kind=kind) for _ in range(3)]
        answers += [await checked(service, digits, kind=kind) for _ in range(2)]

        assert answers == [*["400 INVALID_OTP"] * 3, "403 TOO_MANY_ATTEMPTS", "400 INVALID_OTP"]
        assert "email_code.exhausted" in await events(service)

    async def test_checking_gives_a_right_attempt_back(self, service: Service) -> None:
        digits = await code_for(service)

        assert [await checked(service, digits) for _ in range(5)] == ["200"] * 5
        assert (await use_code(service, digits)).status_code == 200

    @pytest.mark.both_databases
    async def test_a_new_code_replaces_the_older_one(self, service: Service) -> None:
        older = await code_for(service)
        await checked(service, wrong(older))
        newer = await code_for(service)

        assert await checked(service, newer) == "200"
        if older != newer:
            assert await checked(service, older) == "400 INVALID_OTP"
        [row] = await service.rows('SELECT attempts FROM "grant"')
        assert row.attempts == (older != newer)

    @pytest.mark.threat("M12")
    async def test_the_form_of_a_code(self, service: Service) -> None:
        await code_for(service)
        unsound_codes: list[Any] = [123456, ["123456"], {}, None, "", "1" * 33]

        for unsound in unsound_codes:
            assert code(await use_code(service, unsound)) == "400 VALIDATION_ERROR", unsound
        for no_digits in ("\uff11\uff12\uff13\uff14\uff15\uff16", "12345a"):
            assert code(await use_code(service, no_digits)) == "400 INVALID_OTP", no_digits
        for kind in ("change-email", "", ["sign-in"], None):
            sent = await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": kind})
            assert code(sent) == "400 VALIDATION_ERROR", kind

    async def test_verifies_the_address_and_opens_no_session(self, service: Service) -> None:
        session = await join(service)
        digits = await code_for(service, kind="email-verification")

        answer = await service.post("/email-otp/verify-email", {"email": ADA, "otp": digits})

        user = await user_of(service, session)
        assert answer.json() == {"status": True, "token": None, "user": user}
        assert user["emailVerified"]
        assert "set-cookie" not in answer.headers
        assert await opens(service, PASSWORD)

    @pytest.mark.threat("M10")
    async def test_wrong_codes_count_as_failures(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "limits.failures": "2"})
        await join(service)
        digits = await code_for(service)

        answers = [code(await use_code(service, wrong(digits))) for _ in range(3)]

        assert answers == ["400 INVALID_OTP", "400 INVALID_OTP", "429 TOO_MANY_REQUESTS"]
        assert code(await use_code(service, digits)) == "429 TOO_MANY_REQUESTS"
        assert code(await sign_in(service)) == "429 TOO_MANY_REQUESTS"


@pytest.mark.operation(
    "email_codes.forget_password", "email_codes.request_reset", "email_codes.reset_password"
)
class TestReset:
    @pytest.mark.threat("M18")
    @pytest.mark.parametrize("path", ["/email-otp/request-password-reset", "/forget-password/email-otp"])
    async def test_replaces_the_password(self, service: Service, path: str) -> None:
        session = await join(service)
        assert (await service.post(path, {"email": ADA})).json() == {"success": True}
        digits = (await service.inbox(ADA, "reset-password-code"))[-1]["code"]
        body = {"email": ADA, "otp": digits}

        for password, expected in (
            ("short", "400 PASSWORD_TOO_SHORT"),
            ("password1", "400 PASSWORD_TOO_COMMON"),
            ("password1", "400 PASSWORD_TOO_COMMON"),
            ("password1", "400 PASSWORD_TOO_COMMON"),
            (NEW_PASSWORD, "200"),
            (NEW_PASSWORD, "400 INVALID_OTP"),
        ):
            answer = await service.post("/email-otp/reset-password", {**body, "password": password})
            assert code(answer) == expected

        assert not await works(service, session)
        assert await opens(service, NEW_PASSWORD)
        assert await service.inbox(ADA, "password-changed")

    @pytest.mark.threat("M18")
    @pytest.mark.both_databases
    async def test_two_at_once(self, service: Service) -> None:
        await join(service)
        body = {"email": ADA, "otp": await code_for(service, kind="forget-password")}

        answers = await asyncio.gather(
            *(
                service.post("/email-otp/reset-password", {**body, "password": f"{NEW_PASSWORD} {n}"})
                for n in range(2)
            )
        )

        assert sorted(code(answer) for answer in answers) == ["200", "400 INVALID_OTP"]

    async def test_is_off_without_a_sender(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "password_reset.sender": "none"})
        body = {"email": ADA, "otp": "123456", "password": NEW_PASSWORD, "type": "forget-password"}

        for path in ("request-password-reset", "reset-password", "send-verification-otp"):
            assert code(await service.post(f"/email-otp/{path}", body)) == "400 RESET_PASSWORD_DISABLED"


@pytest.mark.operation("email_codes.change_email", "email_codes.request_change")
class TestChangeEmail:
    @pytest.mark.threat("M11", "M17")
    async def test_changes_the_address(self, service: Service) -> None:
        session = await join(service)
        older, stray = await link_to(service), await link_to(service, NEW_ADDRESS)
        answer = await service.post(
            "/email-otp/request-email-change", {"newEmail": NEW_ADDRESS}, headers=session
        )
        assert answer.json() == {"success": True}
        body = {
            "newEmail": NEW_ADDRESS,
            "otp": (await service.inbox(NEW_ADDRESS, "change-email-code"))[-1]["code"],
        }
        other = await join(service, EVE)
        assert code(await service.post("/email-otp/change-email", body, headers=other)) == "400 INVALID_OTP"

        answer = await service.post("/email-otp/change-email", body, headers=session)

        user = await user_of(service, session)
        assert (answer.json(), user["email"], user["emailVerified"]) == ({"success": True}, NEW_ADDRESS, True)
        assert await service.inbox(ADA, "email-changed")
        for link in (older, stray):
            assert code(await open_link(service, link)) == "401 INVALID_TOKEN"

    @pytest.mark.threat("M19")
    async def test_a_taken_address_gets_no_mail(self, service: Service) -> None:
        session = await join(service)
        await join(service, EVE)

        answer = await service.post("/email-otp/request-email-change", {"newEmail": EVE}, headers=session)

        assert answer.json() == {"success": True}
        assert await service.inbox(EVE, "change-email-code") == []
        body = {"newEmail": EVE, "otp": "123456"}
        answers = [
            code(await service.post("/email-otp/change-email", body, headers=session)) for _ in range(4)
        ]
        assert answers == [*["400 INVALID_OTP"] * 3, "403 TOO_MANY_ATTEMPTS"]

    async def test_may_need_a_code_of_the_present_address(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "email_codes.verify_current_email": "true"})
        session = await join(service)
        await set_user(service, email_verified=True)
        body = {"newEmail": NEW_ADDRESS}

        async def ask(**more: str) -> str:
            return code(
                await service.post("/email-otp/request-email-change", {**body, **more}, headers=session)
            )

        assert await ask() == "400 VALIDATION_ERROR"
        assert await ask(otp="123456") == "400 INVALID_OTP"
        digits = await code_for(service, kind="email-verification")
        assert [await ask(otp=digits) for _ in range(2)] == ["200", "400 INVALID_OTP"]
        assert await service.inbox(NEW_ADDRESS, "change-email-code")

    @pytest.mark.parametrize(
        ("settings", "new", "expected"),
        [
            ({"change_email.enabled": "false"}, NEW_ADDRESS, "400 CHANGE_EMAIL_DISABLED"),
            ({}, ADA, "400 VALIDATION_ERROR"),
        ],
    )
    async def test_refusals(
        self, make_service: MakeService, settings: dict[str, str], new: str, expected: str
    ) -> None:
        service = await make_service({**BY_MAIL, **settings})
        session = await join(service)

        for path in ("request-email-change", "change-email"):
            body = {"newEmail": new, "otp": "123456"}
            assert code(await service.post(f"/email-otp/{path}", body, headers=session)) == expected


class TestUnprovenAccounts:
    @pytest.mark.threat("M5")
    @pytest.mark.both_databases
    async def test_a_strangers_ways_in_die(self, service: Service) -> None:
        stranger = await join(service)

        answer = await use_code(service, await code_for(service))

        assert answer.status_code == 200
        assert not await works(service, stranger)
        assert not await opens(service, PASSWORD)
        assert (await user_of(service, bearer(answer.json()["token"])))["emailVerified"]
        [notice] = await service.inbox(ADA, "account-secured")
        assert "ways to sign in: 1" in notice["text"]
        assert "user.unproven_access_removed" in await events(service)

    async def test_the_audit_trail_counts_what_was_removed(self, service: Service) -> None:
        await join(service)
        await code_for(service, kind="email-verification")

        await use_code(service, await code_for(service))

        await service.services.audit_writer.flush()
        [row] = await service.rows(
            "SELECT user_id, actor_id, details FROM audit WHERE event = 'user.unproven_access_removed'"
        )
        details = json.loads(row.details) if isinstance(row.details, str) else row.details
        counted = {name: number for name, number in details.items() if number}
        # The verification link of the sign-up, and the code.
        assert counted == {"passwords": 1, "sessions": 1, "tokens": 3}
        assert row.user_id == row.actor_id is not None

    async def test_nothing_is_told_of_what_was_not_there(self, service: Service) -> None:
        await join(service)
        await execute(service, "DELETE FROM account")
        service.clock.advance(days=8)

        await use_code(service, await code_for(service))

        assert await service.inbox(ADA, "account-secured") == []
        assert "user.unproven_access_removed" not in await events(service)

    async def test_a_verified_account_keeps_everything(self, service: Service) -> None:
        session = await join(service)
        await set_user(service, email_verified=True)

        assert (await open_link(service, await link_to(service))).status_code == 200

        assert await works(service, session)
        assert await opens(service, PASSWORD)
        assert await service.inbox(ADA, "account-secured") == []


class TestAttacks:
    @pytest.mark.threat("M9")
    async def test_tokens_and_codes_are_not_stored(self, service: Service) -> None:
        token, digits = await link_to(service, EVE), await code_for(service)
        for table in ("grant", "outbox", "audit"):
            rows = str(await service.rows(f'SELECT * FROM "{table}"'))
            assert token not in rows
            assert f"'{digits}'" not in rows

    @pytest.mark.threat("M13")
    async def test_requests_look_alike(self, service: Service) -> None:
        await join(service)
        await join(service, EVE)
        await set_user(service, EVE, banned=True)
        for path, body in (
            ("/sign-in/magic-link", {}),
            *(("/email-otp/send-verification-otp", {"type": kind}) for kind in TEMPLATES),
            ("/email-otp/request-password-reset", {}),
        ):
            answers = [await service.post(path, {"email": email, **body}) for email in (ADA, EVE, GRACE)]
            assert len({str(looks(answer)) for answer in answers}) == 1

    @pytest.mark.threat("M14", "M15")
    async def test_sign_in_mails_have_a_limit_of_their_own(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "limits.sign_in_mail_burst": "2"})
        await join(service)
        await service.inbox(ADA)
        token = await link_to(service)
        digits = await code_for(service)

        for _ in range(3):
            await service.post("/sign-in/magic-link", {"email": ADA})
            await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})

        mailed = [mail["template"] for mail in await service.inbox(ADA)]
        assert mailed.count("magic-link") + mailed.count("sign-in-code") == 2
        assert await checked(service, digits) == "200"
        assert await code_for(service, kind="forget-password")
        assert await opens(service, PASSWORD)
        assert (await open_link(service, token)).status_code == 200

    @pytest.mark.threat("M14")
    async def test_the_day_has_a_number_of_sign_in_mails(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "limits.sign_in_mail_daily": "3"})

        for _ in range(5):
            await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
            await service.inbox(ADA)
            service.clock.advance(minutes=20)

        assert len(await service.inbox(ADA, "sign-in-code")) == 3


async def test_is_off_by_the_settings(make_service: MakeService) -> None:
    service = await make_service({"email_codes.enabled": "false"})

    for path in ("/sign-in/email-otp", "/email-otp/change-email"):
        assert code(await service.post(path, {"email": ADA})) == "404 NOT_FOUND", path
