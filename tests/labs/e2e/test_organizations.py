"""Two people share an organization, by clicking alone: on a desktop with scripts, on a phone without."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from tests.labs.e2e.test_pages_journey import follow, heading, press, printed_address, sent
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD
from tests.smtp_peer import SmtpPeer

ADA, BOB = "ada@example.com", "bob@example.com"
DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=360, height=780)


@asynccontextmanager
async def profile(browser: Browser, viewport: ViewportSize, *, scripts: bool) -> AsyncIterator[Page]:
    """Yield a page of a new profile."""
    context = await browser.new_context(viewport=viewport, java_script_enabled=scripts)
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def notice(page: Page, text: str) -> None:
    """Wait for what a page says about the last form."""
    await expect(page.get_by_role("status")).to_contain_text(text)


async def open_section(page: Page, name: str) -> None:
    """Follow a link of the navigation, which is behind a button on a phone."""
    menu = page.get_by_role("button", name="Account", exact=True)
    if await menu.is_visible():
        await menu.click()
    await page.get_by_role("navigation", name="Account").get_by_role("link", name=name, exact=True).click()


async def sign_up(page: Page, name: str) -> None:
    """Fill in and send the form of the sign-up page; the address is there already if it was invited."""
    await page.get_by_label("Name", exact=True).fill(name)
    address = page.get_by_label("Email address")
    if not await address.input_value():
        await address.fill(f"{name.lower()}@example.com")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await press(page, "Create an account")


async def open_invitation(page: Page, peer: SmtpPeer, file: Path) -> Page:
    """Open the emailed invitation in the browser, and follow its link; return the page that it leads to."""
    [mail] = [mail for mail in peer.mails if mail["To"] == BOB]
    body = mail.get_body(("html",))
    assert body is not None
    await asyncio.to_thread(file.write_text, body.get_content(), "utf-8")
    await page.goto(file.as_uri())
    async with page.context.expect_page() as opening:
        await page.locator('a[href*="/account/invitation/"]').first.click()
    return await opening.value


async def create_organization(page: Page, live: LiveService) -> None:
    """Sign up as Ada, create an organization, and invite Bob."""
    await page.goto(printed_address(live, "Sign in"))
    await follow(page, "Create an account")
    await sign_up(page, "Ada")
    await heading(page, "Your account")
    await open_section(page, "Organizations")
    await page.get_by_label("Name", exact=True).fill("Acme")
    await page.get_by_label("Short name").fill("Acme")
    await press(page, "Create the organization")
    await notice(page, "The organization has been created.")
    await heading(page, "Acme")
    await page.get_by_role("textbox", name="Email address").fill(BOB)
    await press(page, "Send the invitation")
    await notice(page, "The invitation has been created.")


async def accept(page: Page) -> None:
    """Accept the invitation as Bob, who has no account yet, and look at the organization."""
    await heading(page, "Join Acme")
    await follow(page, "Create an account")
    assert await page.get_by_label("Email address").input_value() == BOB
    await sign_up(page, "Bob")
    await heading(page, "Join Acme")
    await press(page, "Accept the invitation")
    await heading(page, "Welcome to Acme")
    await follow(page, "Go to the organization")
    await heading(page, "Acme")
    await expect(page.get_by_role("heading", name="Invite a person")).to_have_count(0)


async def promote(page: Page) -> None:
    """Make Bob an administrator as Ada."""
    await open_section(page, "Organizations")
    await follow(page, "Acme")
    await follow(page, "Manage: Bob")
    await page.get_by_label("Role", exact=True).select_option(label="Administrator")
    await press(page, "Save")
    await notice(page, "The role has been changed.")


async def leave(page: Page) -> None:
    """See as Bob what administrators see, and leave."""
    await open_section(page, "Organizations")
    await follow(page, "Acme")
    await expect(page.get_by_role("heading", name="Invite a person")).to_be_visible()
    await expect(page.get_by_role("link", name="Manage: Ada")).to_have_count(0)
    await follow(page, "Leave the organization")
    await heading(page, "Leave this organization?")
    await press(page, "Leave")
    await notice(page, "You have left the organization.")
    await expect(page.get_by_text("You are in no organization yet.")).to_be_visible()


@pytest.mark.threat("H10")
@pytest.mark.parametrize(("viewport", "scripts"), [(DESKTOP, True), (PHONE, False), (PHONE, True)])
async def test_a_member_joins_by_mail_becomes_an_administrator_and_leaves(
    browser: Browser, tmp_path: Path, viewport: ViewportSize, scripts: bool
) -> None:
    peer = SmtpPeer()
    await peer.start()
    settings = {
        "organizations.enabled": "true", "mail.sender": "smtp", "mail.from": "auth@example.com",
        "mail.smtp.host": "127.0.0.1", "mail.smtp.port": str(peer.port), "mail.smtp.tls": "none",
    }  # fmt: skip
    try:
        with serving(tmp_path, settings, port=free_port()) as live:
            async with (
                profile(browser, viewport, scripts=scripts) as ada,
                profile(browser, viewport, scripts=scripts) as bob,
            ):
                await create_organization(ada, live)
                await sent(live, "organization-invitation", r'^\{(?=[^\n]*"mail\.sent")[^\n]*"%s"')
                tab = await open_invitation(bob, peer, tmp_path / "mail.html")
                await accept(tab)
                await promote(ada)
                await leave(tab)
                await ada.reload()
                await expect(ada.get_by_text(BOB)).to_have_count(0)
    finally:
        await peer.stop()
