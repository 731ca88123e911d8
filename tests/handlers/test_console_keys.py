"""Signing keys in the console."""

import pytest

from server.components.jwt import SigningKeyStore
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser
from tests.handlers.test_console import administrator
from tests.service import Service

KEYS = "/console/keys"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    service = await make_service({**SETTINGS, "limits.enabled": "false"})
    await service.services.port[SigningKeyStore].prepare()
    service.clock.advance(minutes=1)
    return service


@pytest.fixture
async def browser(service: Service) -> Browser:
    return await administrator(service)


async def published(service: Service) -> list[str]:
    return [key["kid"] for key in (await service.get("/jwks")).json()["keys"]]


@pytest.mark.operation("console.keys.show_list", "console.keys.show_rotate", "console.keys.rotate")
async def test_the_next_key_is_announced_after_a_question(service: Service, browser: Browser) -> None:
    page = await browser.open(KEYS)
    assert "ES256" in page.text

    page = await browser.open(f"{KEYS}/rotate?algorithm=ES256")
    assert len(await published(service)) == 1
    page = await browser.submit(f"{KEYS}/rotate")

    assert "The next key is published, and signs later." in page.text
    assert "Announced" in page.text
    assert len(await published(service)) == 2
    await browser.open(f"{KEYS}/rotate?algorithm=ES256")
    page = await browser.submit(f"{KEYS}/rotate")
    assert (page.status, "already announced" in page.text) == (422, True)


async def test_a_key_is_replaced_now(service: Service, browser: Browser) -> None:
    [old] = await published(service)

    await browser.open(f"{KEYS}/rotate?algorithm=ES256&now=true")
    page = await browser.submit(f"{KEYS}/rotate")

    assert "The new key signs from now on." in page.text
    assert (await published(service))[1:] == [old]


@pytest.mark.operation("console.keys.show_revoke", "console.keys.revoke")
async def test_a_key_is_revoked_after_a_question(service: Service, browser: Browser) -> None:
    [old] = await published(service)

    page = await browser.open(KEYS)
    page = await browser.open(page.links["Revoke"])
    assert old in page.text
    assert "This key signs now." in page.text
    page = await browser.submit(f"{KEYS}/revoke")

    assert "The key is revoked." in page.text
    assert old not in await published(service)
    assert (await browser.open(f"{KEYS}/revoke?key={old}")).path == KEYS
    assert (await browser.open(f"{KEYS}/revoke?key=x")).status == 404


async def test_an_old_session_confirms_first(service: Service, browser: Browser) -> None:
    [key] = await published(service)
    service.clock.advance(hours=25)

    for page in (f"{KEYS}/rotate?algorithm=ES256", f"{KEYS}/revoke?key={key}"):
        assert "SESSION_NOT_FRESH" in (await browser.open(page)).text or browser.page.path.startswith(
            "/account/confirm"
        )
    assert len(await published(service)) == 1


async def test_an_algorithm_that_is_not_used_is_refused(browser: Browser) -> None:
    assert (await browser.open(f"{KEYS}/rotate?algorithm=RS256")).status == 400


async def test_without_tokens_there_are_no_keys(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, "jwt.enabled": "false"})
    browser = await administrator(service)

    assert "Signing keys" not in (await browser.open("/console")).links
    assert (await browser.open(KEYS)).status == 404
