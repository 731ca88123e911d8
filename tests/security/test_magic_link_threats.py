"""Attacks on sign-in by links."""

import asyncio
import io
import re
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest

from domain import one_time_tokens
from domain.context import Context
from models import Purpose
from tests.conftest import MakeService
from tests.handlers.mailed import link_to, open_link
from tests.handlers.pages import SAME_ORIGIN, Browser
from tests.handlers.steps import (
    ADA,
    EVE,
    code,
    local,
)
from tests.security.conftest import UNLIMITED
from tests.security.redirect_sites import APP
from tests.security.test_redirect_threats import L1
from tests.service import BASE_URL, Service

EVIL = "https://evil.test"
HOSTED = {"magic_links.page": "", "session.cookie_secure": "false", **UNLIMITED}
SHORT = [target for target in L1 if len(target) < 8_000]
"""List L1 without the target that no request line holds."""
MANY = {"limits.sign_in_mail_burst": "100", "limits.sign_in_mail_daily": "100"}
FIELDS = {
    "callbackURL": "403 INVALID_CALLBACK_URL",
    "newUserCallbackURL": "403 INVALID_NEW_USER_CALLBACK_URL",
    "errorCallbackURL": "403 INVALID_ERROR_CALLBACK_URL",
}


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
