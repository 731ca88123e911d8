"""Attacks on sign-in by codes."""

import re
from itertools import permutations

import pytest

from tests.conftest import MakeService
from tests.handlers.mailed import TEMPLATES, code_for, use_code, wrong
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    NEW_PASSWORD,
    bearer,
    code,
    execute,
    join,
    set_user,
    sign_in,
)
from tests.security.conftest import UNLIMITED
from tests.security.limits import PROXIED, coming_from
from tests.security.test_enumeration_threats import counted
from tests.service import Service

HOSTED = {"magic_links.page": "", "session.cookie_secure": "false", **UNLIMITED}
SEND = "/email-otp/send-verification-otp"
OF_OUTBOX = re.compile("^(DELETE FROM|UPDATE) outbox.*", re.DOTALL)
RECORDED = ("INSERT INTO audit", "INSERT INTO daily_count")
"""What is written whenever enough has happened."""
MANY = {"limits.sign_in_mail_burst": "100", "limits.sign_in_mail_daily": "100"}
CONSUMERS: dict[str, tuple[str, dict[str, str]]] = {
    "sign-in": ("/sign-in/email-otp", {"email": ADA}),
    "email-verification": ("/email-otp/verify-email", {"email": ADA}),
    "forget-password": ("/email-otp/reset-password", {"email": ADA, "password": NEW_PASSWORD}),
    "change-email": ("/email-otp/change-email", {"newEmail": NEW_ADDRESS}),
}
"""What uses up a code of each type."""
EVERYBODY = ("known@example.com", "banned@example.com", "verified@example.com", "nobody@example.com")


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with links and codes, whose links lead to a page of the application."""
    return await make_service({**UNLIMITED, **MANY})


async def everybody(service: Service) -> None:
    """Create the users of EVERYBODY, but for the last, who is none."""
    for email in EVERYBODY[:3]:
        await join(service, email)
    await set_user(service, EVERYBODY[1], banned=True)
    await set_user(service, EVERYBODY[2], email_verified=True)


class TestCodes:
    @pytest.mark.threat("M10")
    async def test_new_codes_and_other_networks_give_no_new_guesses(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, **UNLIMITED})
        await join(service)
        digits = await code_for(service)
        for number in range(10):
            headers = coming_from(f"203.0.113.{number}")
            for _ in range(3):
                await service.post(
                    "/sign-in/email-otp", {"email": ADA, "otp": wrong(digits)}, headers=headers
                )
            digits = await code_for(service)

        assert len(await service.inbox(ADA, "sign-in-code")) == 5
        right = {"email": ADA, "otp": digits}
        answer = await service.post("/sign-in/email-otp", right, headers=coming_from("198.51.100.1"))
        assert code(answer) == "400 INVALID_OTP"

    @pytest.mark.threat("M11")
    async def test_each_is_for_one_purpose_address_and_user(self, service: Service) -> None:
        ada, eve = await join(service), await join(service, EVE)
        digits = {kind: await code_for(service, kind=kind) for kind in TEMPLATES}
        change = {"newEmail": NEW_ADDRESS}
        await service.post("/email-otp/request-email-change", change, headers=ada)
        digits["change-email"] = (await service.inbox(NEW_ADDRESS, "change-email-code"))[-1]["code"]
        await code_for(service, EVE)

        for used, kind in permutations(CONSUMERS, 2):
            path, body = CONSUMERS[used]
            answer = await service.post(path, {**body, "otp": digits[kind]}, headers=ada)
            assert code(answer) == "400 INVALID_OTP", (used, kind)
        assert code(await use_code(service, digits["sign-in"], EVE)) == "400 INVALID_OTP"
        other = {**change, "otp": digits["change-email"]}
        answer = await service.post("/email-otp/change-email", other, headers=eve)
        assert code(answer) == "400 INVALID_OTP"

    @pytest.mark.threat("M13")
    @pytest.mark.parametrize("kind", TEMPLATES)
    async def test_wrong_exhausted_and_expired_look_alike_for_everybody(
        self, make_service: MakeService, kind: str
    ) -> None:
        service = await make_service({**HOSTED, **MANY, "email_codes.sign_up": "false"})
        await everybody(service)
        path, body = CONSUMERS[kind]

        told = set()
        for email in EVERYBODY:
            seen = []
            for seconds in (0, 300):
                await service.post("/email-otp/send-verification-otp", {"email": email, "type": kind})
                await service.services.worker.drain()
                service.clock.advance(seconds=seconds)
                for _ in range(5):
                    answer = await service.post(path, {**body, "email": email, "otp": "no code"})
                    seen.append(code(answer))
            told.add(tuple(seen))

        expired = ["400 OTP_EXPIRED"] * 5
        assert told == {(*["400 INVALID_OTP"] * 3, "403 TOO_MANY_ATTEMPTS", "400 INVALID_OTP", *expired)}

    @pytest.mark.threat("M13")
    @pytest.mark.parametrize("asked", ["link", *TEMPLATES, "wrong code"])
    async def test_whatever_is_known_of_an_address_costs_the_same_work(
        self, make_service: MakeService, asked: str
    ) -> None:
        """But for one statement: a mail that was sent is noted, one that is for nobody is deleted."""
        no_new_users = {"magic_links.sign_up": "false", "email_codes.sign_up": "false"}
        service = await make_service({**UNLIMITED, **MANY, **no_new_users})
        await everybody(service)
        # Who guesses does not live with the guessed.
        await execute(service, "DELETE FROM known_network")
        kind = asked if asked in TEMPLATES else "sign-in"
        path, body = {
            "link": ("/sign-in/magic-link", {}),
            "wrong code": ("/sign-in/email-otp", {"otp": "no code"}),
        }.get(asked, (SEND, {"type": kind}))

        works = set()
        with counted(service) as work:
            for email in EVERYBODY:
                await service.post(SEND, {"email": email, "type": kind})
                for _ in range(2):  # What is prepared once must not count.
                    await service.services.worker.drain()
                    work.take()
                    assert (await service.post(path, {"email": email, **body})).status_code in (200, 400)
                await service.services.worker.drain()
                done = work.take()
                # Sorted, because the queues of the worker take turns in any order.
                works.add(
                    tuple(sorted(OF_OUTBOX.sub("", each) for each in done if not each.startswith(RECORDED)))
                )

        assert len(works) == 1
        assert len(done) > 1

    @pytest.mark.threat("M14")
    async def test_one_network_floods_few_mailboxes(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "5"})

        for path, more in (
            ("/sign-in/magic-link", {}),
            ("/email-otp/send-verification-otp", {"type": "sign-in"}),
        ):
            answers = [
                code(await service.post(path, {"email": f"user{number}@example.com", **more}))
                for number in range(8)
            ]
            assert answers == ["200"] * 5 + ["429 TOO_MANY_REQUESTS"] * 3

    @pytest.mark.threat("M19")
    async def test_an_address_that_was_taken_meanwhile_or_a_session_that_ended_changes_nothing(
        self, service: Service
    ) -> None:
        ada, other = await join(service), bearer((await sign_in(service)).json()["token"])
        await service.post("/email-otp/request-email-change", {"newEmail": NEW_ADDRESS}, headers=ada)
        digits = (await service.inbox(NEW_ADDRESS, "change-email-code"))[-1]["code"]
        body = {"newEmail": NEW_ADDRESS, "otp": digits}
        await service.post("/sign-out", {}, headers=ada)
        assert code(await service.post("/email-otp/change-email", body, headers=ada)) == "401 UNAUTHORIZED"
        await join(service, NEW_ADDRESS)

        taken = await service.post("/email-otp/change-email", body, headers=other)

        assert code(taken) == "400 INVALID_OTP"
        await execute(service, 'DELETE FROM "user" WHERE email = :email', email=NEW_ADDRESS)
        await service.post("/email-otp/request-email-change", {"newEmail": NEW_ADDRESS}, headers=other)
        body["otp"] = (await service.inbox(NEW_ADDRESS, "change-email-code"))[-1]["code"]
        assert code(await service.post("/email-otp/change-email", body, headers=other)) == "200"
