"""Webhooks in the console with a receiver that stops and comes back: with scripts and without."""

import asyncio
import json
from collections.abc import Iterator, Sequence

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect
from standardwebhooks import Webhook

from tests.labs.e2e.page_walk import Site, site
from tests.labs.e2e.test_console_journey import (
    DESKTOP,
    PHONE,
    add_administrator,
    add_user,
    enter,
    told,
    window,
)
from tests.labs.e2e.test_pages_journey import follow, heading, press
from tests.receiver import Received, Receiver


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("service")) as running:
        yield running


async def create(page: Page, running: Site, name: str, url: str) -> str:
    """Create an endpoint by clicking; return its secret."""
    await page.goto(running.url("/console/webhooks"))
    await page.get_by_role("link", name="Create an endpoint").first.click()
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("URL").fill("http://10.0.0.1/")
    await page.get_by_label("user.created").check()
    await press(page, "Create the endpoint")
    await expect(page.get_by_role("alert")).to_contain_text("Requests cannot be sent to this URL.")
    await expect(page.get_by_label("user.created")).to_be_checked()
    await page.get_by_label("URL").fill(url)
    await press(page, "Create the endpoint")
    await heading(page, "The new secret")
    secret = await page.locator("#secret").inner_text()
    await page.reload()
    await expect(page.locator("#secret")).to_have_text(secret)
    await follow(page, "I have saved it")
    await page.go_back()
    await heading(page, "Webhooks")
    await expect(page.locator("#secret")).to_have_count(0)
    return secret


def emails(requests: Sequence[Received], secret: str) -> set[str]:
    """Return the email addresses in events with the right signature."""
    events = [Webhook(secret).verify(one.body, dict(one.headers)) for one in requests]
    return {event["data"]["user"]["email"] for event in events if event["type"] == "user.created"}


async def shows(page: Page, text: str, number: int) -> None:
    """Load the page until so many deliveries are in a state."""
    badges = page.locator("#deliveries .badge", has_text=text)
    async with asyncio.timeout(120):
        while await badges.count() != number:
            await page.wait_for_timeout(500)
            await page.reload()


@pytest.mark.threat("C9")
@pytest.mark.parametrize(
    ("scripts", "size"), [(True, DESKTOP), (False, PHONE)], ids=["scripts", "no-scripts-phone"]
)
async def test_what_waits_for_a_receiver_arrives(
    browser: Browser, running: Site, scripts: bool, size: ViewportSize
) -> None:
    name = "crm" if scripts else "billing"
    root = f"root-{name}@example.com"
    await asyncio.to_thread(add_administrator, running, root)
    async with window(browser, size, scripts=scripts) as page:
        await enter(page, running, root)
        async with Receiver() as receiver:
            secret = await create(page, running, name, receiver.url())
            await asyncio.to_thread(add_user, running, f"first-{name}@example.com", "First")
            requests = await receiver.wait_for(1)
            assert emails(requests, secret) == {f"first-{name}@example.com"}
            await page.goto(running.url(f"/console/webhooks?search={name}"))
            await follow(page, name)
            await shows(page, "Delivered", 1)
        # The receiver is gone.
        waiting = {f"waits-{number}-{name}@example.com" for number in range(4)}
        for email in sorted(waiting):
            await asyncio.to_thread(add_user, running, email, "Waits")
        await shows(page, "Pending", 4)
        async with asyncio.timeout(120):
            while not await page.get_by_text("Failing", exact=True).count():
                await page.wait_for_timeout(500)
                await page.reload()
        await expect(page.locator("#deliveries")).to_contain_text("No connection")
        # The service would soon try by itself.
        later = "UPDATE webhook_endpoint SET next_probe = next_probe + 3600000"
        await asyncio.to_thread(running.execute, later)
        async with Receiver(port=receiver.port) as back:
            await press(page, "Try now")
            await told_active(page)
            requests = await back.wait_for(4)
            assert emails(requests, secret) == waiting
            await shows(page, "Delivered", 5)
            await expect(page.locator("main h1")).to_contain_text("Active")
            await press(page, "Send a test")
            await heading(page, "webhook.test")
            test = (await back.wait_for(5))[-1]
            assert json.loads(test.body)["type"] == "webhook.test"
            await press(page, "Send again")
            again = (await back.wait_for(6))[-1]
            assert again.headers["webhook-id"] == test.headers["webhook-id"]
            await expect(page.locator("main")).to_contain_text(test.headers["webhook-id"])
        await page.goto(running.url(f"/console/webhooks?search={name}"))
        await follow(page, name)
        await rotate_pause_and_delete(page, name, secret)


async def told_active(page: Page) -> None:
    await expect(page.get_by_text("The endpoint is active.")).to_be_visible()


async def rotate_pause_and_delete(page: Page, name: str, secret: str) -> None:
    endpoint = page.url
    await follow(page, "Replace the secret")
    await press(page, "Replace the secret")
    await heading(page, "The new secret")
    assert await page.locator("#secret").inner_text() != secret
    await page.goto(endpoint)
    await follow(page, "Pause")
    await press(page, "Pause")
    await expect(page.get_by_text("The endpoint is paused.")).to_be_visible()
    await press(page, "Resume")
    await told_active(page)
    await follow(page, "Delete the endpoint")
    await page.get_by_label("Name of the endpoint").fill(name)
    await press(page, "Delete permanently")
    await told(page, "The endpoint is deleted.")
    await heading(page, "Webhooks")
