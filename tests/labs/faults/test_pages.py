"""What people see of hosted pages while the database or the mail server is away: rows H1 and H12."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.handlers.pages import Browser, Page, stored_user
from tests.handlers.steps import ADA, join, set_user, token_in
from tests.labs.faults.asking import PLAIN, until_ready
from tests.labs.faults.engines import OwnCluster
from tests.labs.faults.test_mail import by_smtp
from tests.service import PASSWORD, Service, running_service
from tests.smtp_peer import SmtpPeer

SIGN_IN, PROFILE, FORGOT = "/account/sign-in", "/account/profile", "/account/forgot-password"


@pytest.fixture
async def peer() -> AsyncIterator[SmtpPeer]:
    """The mail server."""
    peer = SmtpPeer()
    await peer.start()
    yield peer
    await peer.stop()


@pytest.fixture
async def service(server: OwnCluster, peer: SmtpPeer, tmp_path: Path) -> AsyncIterator[Service]:
    """The service; Ada is signed in."""
    settings = {**PLAIN, **by_smtp(peer.port), "session.cookie_secure": "false", "database.timeout": "2s"}
    async with running_service(server.create(migrated=True), tmp_path, settings) as service:
        await join(service)
        yield service


def is_unavailable(page: Page) -> bool:
    """Return whether the page says that the service is unavailable, and when to come again."""
    said = "Nothing was done. Try again in a few seconds." in page.text
    return (page.status, page.headers["retry-after"], said) == (503, "5", True)


@asynccontextmanager
async def away(server: OwnCluster, service: Service) -> AsyncIterator[None]:
    """Stop the database, start it after the block, and wait until the service is ready; nothing is done to that."""
    await asyncio.to_thread(server.halt)
    try:
        yield
    finally:
        await asyncio.to_thread(server.resume)
    await until_ready(service)


@pytest.mark.threat("H12")
async def test_the_sign_in_form_is_shown_again_until_the_database_is_back(
    server: OwnCluster, service: Service
) -> None:
    browser = Browser(service)
    service.client.cookies.clear()
    await browser.open(SIGN_IN)

    async with away(server, service):
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert is_unavailable(page)
        assert page.inputs["identifier"]["value"] == ADA
        assert "value" not in page.inputs["password"]
    assert (await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)).path == "/account"


@pytest.mark.threat("H12", "H1")
async def test_a_form_of_the_account_is_sent_again_by_its_page(server: OwnCluster, service: Service) -> None:
    """But for what is secret, and not that of another site."""
    browser, of_password, elsewhere = [Browser(service) for _ in range(3)]
    await browser.open(PROFILE)
    await of_password.open("/account/password")
    await elsewhere.open(PROFILE)

    async with away(server, service):
        forged = await elsewhere.submit(PROFILE, {"Sec-Fetch-Site": "cross-site"}, name="Eve")
        secret = await of_password.submit(
            "/account/password", currentPassword=PASSWORD, newPassword="nine green boats"
        )
        assert is_unavailable(await browser.submit(PROFILE, name="Ada Lovelace"))
        assert is_unavailable(await browser.submit(PROFILE))

    assert forged.forms == []
    assert (await elsewhere.open(PROFILE)).inputs["name"]["value"] == "Ada"
    page = await browser.submit(PROFILE)
    assert (page.status, page.inputs["name"]["value"]) == (200, "Ada Lovelace")
    assert is_unavailable(secret)
    assert secret.form("/account/password").fields.keys() == {
        *("account", "user", "username", "revokeOtherSessions")
    }
    assert (await of_password.submit("/account/password")).status == 422


@pytest.mark.threat("C12")
async def test_a_form_of_the_console_is_sent_again_by_its_page(server: OwnCluster, service: Service) -> None:
    await set_user(service, ADA, role="admin")
    form = f"/console/users/{(await stored_user(service)).id}/profile"
    browser = Browser(service)
    await browser.open(form)

    async with away(server, service):
        page = await Browser(service).open("/console/users")
        assert is_unavailable(page)
        assert page.links["Try again"] == "/console/users"
        assert is_unavailable(await browser.submit(form, name="Ada Lovelace"))
    page = await browser.submit(form)
    assert (page.path, "Ada Lovelace" in page.text) == (form.removesuffix("/profile"), True)


@pytest.mark.threat("H12")
async def test_a_link_is_promised_while_the_mail_server_is_away_and_comes_later(
    service: Service, peer: SmtpPeer
) -> None:
    await service.services.worker.drain()
    peer.envelopes.clear()
    await peer.stop()
    browser = Browser(service)
    await browser.open(FORGOT)

    page = await browser.submit(FORGOT, email=ADA)
    await service.services.worker.drain()

    assert (page.status, page.path.partition("?")[0]) == (200, "/account/mail-sent")
    await peer.start()
    service.clock.advance(minutes=10)
    await service.services.worker.drain()
    [mail] = peer.mails
    text = mail.get_body(("plain",))
    assert text is not None
    link = next(line for line in text.get_content().splitlines() if "/account/reset-password" in line)
    page = await browser.open(f"/account/reset-password?token={token_in(link)}")
    assert "newPassword" in page.inputs
