"""Rows M1 to M22: attacks on sign-in by mail."""

import asyncio
import io
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle, permutations
from typing import Any

import pytest

from domain import one_time_tokens
from domain.context import Context
from models import Purpose
from tests.authenticator import Authenticator
from tests.conftest import Headers, MakeService
from tests.handlers import passkey_steps
from tests.handlers.mailed import TEMPLATES, code_for, link_to, open_link, use_code, wrong
from tests.handlers.pages import SAME_ORIGIN, Browser
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    NEW_PASSWORD,
    bearer,
    code,
    execute,
    join,
    local,
    opens,
    reset_token,
    set_user,
    sign_in,
    works,
)
from tests.security.conftest import UNLIMITED
from tests.security.limits import PROXIED, coming_from
from tests.security.redirect_sites import APP
from tests.security.test_enumeration_threats import counted
from tests.security.test_redirect_threats import L1
from tests.service import BASE_URL, PASSWORD, Service
from tests.settings.api_keys import VERIFIER

Prove = Callable[[Service], Awaitable[None]]

EVIL = "https://evil.test"
HOSTED = {"magic_links.page": "", "session.cookie_secure": "false", **UNLIMITED}
SEND = "/email-otp/send-verification-otp"
OF_OUTBOX = re.compile("^(DELETE FROM|UPDATE) outbox.*", re.DOTALL)
RECORDED = "INSERT INTO audit"
"""What is written whenever enough has happened."""
SHORT = [target for target in L1 if len(target) < 8_000]
"""List L1 without the target that no request line holds."""
MANY = {"limits.sign_in_mail_burst": "100", "limits.sign_in_mail_daily": "100"}
FIELDS = {
    "callbackURL": "403 INVALID_CALLBACK_URL",
    "newUserCallbackURL": "403 INVALID_NEW_USER_CALLBACK_URL",
    "errorCallbackURL": "403 INVALID_ERROR_CALLBACK_URL",
}
CONSUMERS: dict[str, tuple[str, dict[str, str]]] = {
    "sign-in": ("/sign-in/email-otp", {"email": ADA}),
    "email-verification": ("/email-otp/verify-email", {"email": ADA}),
    "forget-password": ("/email-otp/reset-password", {"email": ADA, "password": NEW_PASSWORD}),
    "change-email": ("/email-otp/change-email", {"newEmail": NEW_ADDRESS}),
}
"""What uses up a code of each type."""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with links and codes, whose links lead to a page of the application."""
    return await make_service({**UNLIMITED, **MANY})


@pytest.fixture
async def hosted(make_service: MakeService) -> Service:
    """A service whose links lead to its own page, and whose cookies a browser keeps."""
    return await make_service({**HOSTED, **MANY})


async def mailed_link(service: Service, email: str = ADA, **more: Any) -> str:
    """Request a link; return its path."""
    await link_to(service, email, **more)
    return local((await service.inbox(email, "magic-link"))[-1]["link"])


EVERYBODY = ("known@example.com", "banned@example.com", "verified@example.com", "nobody@example.com")


async def everybody(service: Service) -> None:
    """Create the users of EVERYBODY, but for the last, who is none."""
    for email in EVERYBODY[:3]:
        await join(service, email)
    await set_user(service, EVERYBODY[1], banned=True)
    await set_user(service, EVERYBODY[2], email_verified=True)


async def sessions(service: Service) -> int:
    return len(await service.rows("SELECT id FROM session"))


class TestLinks:
    @pytest.mark.threat("M1")
    async def test_a_scanner_that_follows_redirects_uses_nothing_up(self, hosted: Service) -> None:
        link = await mailed_link(hosted)
        direct = link.replace("/account/magic-link", "/magic-link/verify")
        browser = Browser(hosted)

        for path in (link, direct) * 3:
            assert (await browser.open(path)).path == link
            assert (await hosted.client.head(path)).status_code == 405
        assert await sessions(hosted) == 0

        await browser.submit("/account/magic-link")
        assert await sessions(hosted) == 1

    @pytest.mark.threat("M2")
    async def test_a_token_of_another_purpose_is_none(self, service: Service) -> None:
        for purpose in Purpose:

            async def issue(ctx: Context, purpose: Purpose = purpose) -> str:
                payload = ctx.cipher.encrypt("grant.name", "")
                lives = timedelta(minutes=5)
                return await one_time_tokens.issue(
                    ctx, purpose, None, expires_in=lives, email=EVE, payload=payload, remembered=True
                )

            token = await service.services.unit_of_work.run(issue)
            peeked = await service.get("/magic-link/peek", params={"token": token})
            opened = await open_link(service, token)
            expected = "200" if purpose is Purpose.MAGIC_LINK else "401 INVALID_TOKEN"
            assert (code(peeked), code(opened)) == (expected, expected), purpose

    @pytest.mark.threat("M3")
    async def test_it_leads_nowhere_else(self, make_service: MakeService) -> None:
        service = await make_service({**HOSTED, **MANY, "trusted_origins": APP})
        token = await link_to(service)
        for target, field in zip(SHORT, cycle(FIELDS), strict=False):
            expected = {FIELDS[field], "400 VALIDATION_ERROR"}
            given = {field: target}
            requested = await service.post("/sign-in/magic-link", {"email": EVE, **given})
            opened = await open_link(service, token, None, **given)
            confirmed = await service.post("/magic-link/verify", {"token": token, **given})
            assert {code(answer) for answer in (requested, opened, confirmed)} <= expected, target
        assert await service.inbox(EVE) == []

        doubled = f"/magic-link/verify?token={token}&callbackURL=/a&callbackURL=/b"
        assert (await service.get(doubled)).status_code == 400
        assert (await open_link(service, token)).status_code == 200

    @pytest.mark.threat("M3")
    async def test_its_page_leads_nowhere_else(self, make_service: MakeService) -> None:
        service = await make_service({**HOSTED, **MANY, "trusted_origins": APP})
        token = await link_to(service)
        for target, field in zip(SHORT, cycle(list(FIELDS)[:2]), strict=False):
            params = {"token": token, field: target}
            shown = await service.get("/account/magic-link", params=params)
            pressed = await service.client.post("/account/magic-link", data=params, headers=SAME_ORIGIN)
            assert {shown.status_code, pressed.status_code} <= {400, 403, 422}, target
        assert await sessions(service) == 0

    @pytest.mark.threat("M8")
    async def test_another_site_opens_it_in_vain(self, service: Service) -> None:
        token = await link_to(service, EVE)
        for headers, expected in (
            ({"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 302),
            ({"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 302),
            ({"Sec-Fetch-Mode": "cors", "Origin": EVIL}, 403),
            ({"Sec-Fetch-Mode": "cors", "Origin": "null"}, 403),
            ({"Origin": EVIL}, 403),
        ):
            foreign = {"Sec-Fetch-Site": "cross-site", "Referer": f"{EVIL}/", **headers}
            answer = await open_link(service, token, foreign)
            assert (answer.status_code, "set-cookie" in answer.headers) == (expected, False), headers

        own = {"Sec-Fetch-Mode": "cors", "Origin": BASE_URL, "Sec-Fetch-Site": "same-origin"}
        assert (await open_link(service, token, own)).status_code == 200

    @pytest.mark.threat("M8")
    async def test_a_form_of_another_site_presses_no_button(self, hosted: Service) -> None:
        token = await link_to(hosted, EVE)
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": EVIL, "Sec-Fetch-Mode": "navigate"}

        for path in ("/magic-link/verify", "/account/magic-link"):
            answer = await hosted.client.post(path, data={"token": token}, headers=foreign)
            assert answer.status_code in (403, 415)
        posted = await hosted.post("/magic-link/verify", {"token": token}, headers={"Origin": EVIL})
        assert code(posted) == "403 INVALID_ORIGIN"
        shown = await hosted.get("/account/magic-link", params={"token": token})

        assert await sessions(hosted) == 0
        assert "e***@example.com" in shown.text

    @pytest.mark.threat("M9")
    async def test_its_token_stays_in_the_mail(self, hosted: Service, log_stream: io.BytesIO) -> None:
        link = await mailed_link(hosted, EVE)
        token = link.partition("token=")[2]
        answers = [
            await hosted.get(link),
            await hosted.get(f"/magic-link/peek?token={token}"),
            await hosted.get(f"/magic-link/verify?token={token}", headers={"Sec-Fetch-Mode": "navigate"}),
            await hosted.get(f"/magic-link/verify?token={token}&callbackURL=/welcome"),
            await hosted.get(f"/magic-link/verify?token={token}"),
            await hosted.get(link),
        ]

        page, peeked, _, welcome, refused, used = answers
        assert [answer.headers["referrer-policy"] for answer in answers] == [
            # Otherwise browsers would send no Origin with the form of the page.
            *["same-origin", "no-referrer", "no-referrer", "no-referrer", "no-referrer", "same-origin"]
        ]
        assert "default-src 'none'" in page.headers["content-security-policy"]
        loaded = re.findall(r'(?:src|href|action)="([^"]*)"', page.text + used.text)
        assert [target for target in loaded if not target.startswith(("/", "#", "data:"))] == []
        assert token not in peeked.text + refused.text + str(welcome.headers)
        await asyncio.sleep(0)  # The log is written at the end of a turn of the event loop.
        log = log_stream.getvalue().decode()
        assert log.count("magic-link") >= len(answers)
        assert token not in log


async def prove_by_link(service: Service) -> None:
    assert (await open_link(service, await link_to(service))).status_code == 200


async def prove_by_code(service: Service) -> None:
    assert (await use_code(service, await code_for(service))).status_code == 200


async def reset_by_link(service: Service) -> None:
    body = {"token": await reset_token(service), "newPassword": NEW_PASSWORD}
    assert (await service.post("/reset-password", body)).status_code == 200


async def reset_by_code(service: Service) -> None:
    body = {"email": ADA, "otp": await code_for(service, kind="forget-password"), "password": NEW_PASSWORD}
    assert (await service.post("/email-otp/reset-password", body)).status_code == 200


@dataclass
class Stranger:
    """What a stranger prepared in an account at somebody else's address: every way in."""

    session: Headers
    passkey: Authenticator
    key: str
    tokens: list[str]
    """Tokens on their way: one resets the password, one changes the address."""

    async def ways_in(self, service: Service) -> list[str]:
        """Return which of them still work."""
        verified = await service.post("/api-key/verify", {"key": self.key}, headers=bearer(VERIFIER))
        body = {"token": self.tokens[0], "newPassword": "eleven grey donkeys"}
        works_still = {
            "session": await works(service, self.session),
            "password": await opens(service, PASSWORD),
            "passkey": (await passkey_steps.use(service, self.passkey)).status_code == 200,
            "key": verified.json()["valid"],
            "session of the key": await works(service, {"x-api-key": self.key}),
            "reset": (await service.post("/reset-password", body)).status_code == 200,
            "new address": (await service.get("/verify-email", params={"token": self.tokens[1]})).is_success,
        }
        counts = {
            table: await service.rows(f"SELECT user_id FROM {table} {where}")
            for table, where in {
                "account": "WHERE provider_id = 'github'",
                "trusted_device": "",
                "two_factor": "",
                "backup_code": "",
            }.items()
        }
        return [name for name, left in (works_still | counts).items() if left]


async def prepare(service: Service) -> Stranger:
    session, device = await join(service), Authenticator()
    await passkey_steps.add(service, session, device)
    key = (await service.post("/api-key/create", {}, headers=session)).json()["key"]
    await service.post("/two-factor/enable", {"password": PASSWORD}, headers=session)
    await execute(
        service,
        "INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)"
        " SELECT 'a', id, 'github', 'https://github.com', '1', created_at, created_at FROM \"user\"",
    )
    await execute(
        service,
        "INSERT INTO trusted_device (id, user_id, digest, expires_at, created_at, updated_at)"
        " SELECT 'd', u.id, :digest, s.expires_at, s.created_at, s.created_at FROM session s"
        ' JOIN "user" u ON u.id = s.user_id',
        digest=b"d" * 32,
    )
    [(user_id,)] = await service.rows('SELECT id FROM "user"')

    async def issue(ctx: Context) -> str:
        return await one_time_tokens.issue(
            ctx, Purpose.CHANGE_EMAIL, user_id, expires_in=timedelta(hours=1), email=NEW_ADDRESS
        )

    change = await service.services.unit_of_work.run(issue)
    return Stranger(session, device, key, [await reset_token(service), change])


PROOFS = (prove_by_link, prove_by_code, reset_by_link, reset_by_code)


@pytest.mark.threat("M5", "V16")
@pytest.mark.both_databases
@pytest.mark.parametrize("prove", PROOFS)
async def test_every_way_in_that_a_stranger_prepared_is_removed(
    make_service: MakeService, prove: Prove
) -> None:
    service = await make_service({**UNLIMITED, **MANY, "api_keys.sessions": "true"})
    stranger = await prepare(service)
    is_reset = prove in (reset_by_link, reset_by_code)

    await prove(service)

    assert await stranger.ways_in(service) == []
    assert await opens(service, NEW_PASSWORD) is is_reset
    [notice] = await service.inbox(ADA, "account-secured")
    # Every reset replaces the password and ends the sessions.
    ways, sessions = ("1", "") if is_reset else ("2", " sessions: 1,")
    removed = f"ways to sign in: {ways}, API keys: 1, passkeys: 1,{sessions} trusted devices: 1"
    assert removed in " ".join(notice["text"].split())


@pytest.mark.threat("M6")
@pytest.mark.parametrize("prove", PROOFS)
async def test_a_mailbox_takes_nothing_from_an_account_with_a_second_factor(
    make_service: MakeService, prove: Prove
) -> None:
    service = await make_service({**UNLIMITED, **MANY, "api_keys.sessions": "true"})
    stranger = await prepare(service)
    await set_user(service, two_factor_enabled=True, email_verified=False)

    await prove(service)

    assert await service.inbox(ADA, "account-secured") == []
    assert {"key", "session of the key", "passkey", "account"} <= set(await stranger.ways_in(service))


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
                works.add(tuple(OF_OUTBOX.sub("", each) for each in done if not each.startswith(RECORDED)))

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
