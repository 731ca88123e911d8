"""Texts of other people and programs on the pages: long ones, and ones that turn the direction of text."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.async_api import Browser, Page, ViewportSize

from tests.labs.e2e.browser import browsing
from tests.labs.e2e.page_walk import ADA, EVE, Site, Visitor, site
from tests.labs.e2e.test_page_quality import OVERFLOW
from tests.labs.e2e.virtual_authenticator import attach
from tests.service import PASSWORD

FOREIGN = "\u202eforeign" + "x" * 10_000
"""A control that writes all that follows from right to left, and 10 kB without a space."""
SIZES = (ViewportSize(width=320, height=640), ViewportSize(width=1280, height=800))
UNMARKED = r"""() => {
  const faults = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (!text.data.includes("\u202e") || text.parentElement.closest("option, script, style, svg")) continue;
    let isolated = text.parentElement;
    while (!/isolate|plaintext/.test(getComputedStyle(isolated).unicodeBidi)) isolated = isolated.parentElement;
    const shown = isolated.textContent.trim();
    if (!/^\u202e[Ff]oreignx*\d?…?$/.test(shown)) faults.push(`${isolated.tagName}: ${shown.slice(0, 80)}`);
  }
  return faults;
}"""
"""What stands with a foreign text in the same element, so that the text turns its direction."""
COLUMNS = {
    "user": ("name", "email"),
    "session": ("user_agent", "ip_address"),
    "passkey": ("name",),
    "api_key": ("name", "start"),
    "account": ("provider_id",),
    "organization": ("name", "logo"),
    "invitation": ("email",),
    "team": ("name",),
    "audit": ("user_agent", "address", "method"),
}
"""The columns that hold such texts."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Site]:
    """A service that shows everything it can."""
    with site(tmp_path) as running:
        yield running


async def populate(visitor: Visitor) -> None:
    """Create one of everything that a page shows."""
    running, page = visitor.site, visitor.page
    for name, email in (("Ada", ADA), ("Eve", EVE)):
        running.post("/sign-up/email", {"name": name, "email": email, "password": PASSWORD})
    running.execute("UPDATE user SET email_verified = 1")
    running.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
    await visitor.sign_in("/account/passkeys")
    await attach(page)
    await page.locator("form[data-passkey=create] button[type=submit]").click()
    await page.wait_for_url("**?reason=added*")
    await visitor.open("/account/api-keys")
    await visitor.send("/account/api-keys", name="ci")
    await visitor.open("/account/organizations")
    await visitor.send("/account/organizations", name="Acme", slug="acme")
    acme = urlsplit(page.url).path
    await visitor.send(f"{acme}/invitations", email=EVE)
    running.execute(
        "INSERT INTO member (id, organization_id, user_id, role, is_owner, created_at, updated_at)"
        " SELECT u.id, o.id, u.id, 'member', 0, u.created_at + 60000, u.updated_at FROM user u, organization o"
        f" WHERE u.email = '{EVE}'"
    )
    running.execute(
        "INSERT INTO account (id, account_id, issuer, provider_id, user_id, created_at, updated_at)"
        " SELECT id, id, '', 'github', id, created_at, updated_at FROM user"
    )


def make_foreign(running: Site) -> None:
    """Replace all texts that come from elsewhere."""
    for table, columns in COLUMNS.items():
        for column in columns:
            own = (
                "id IS NOT NULL"
                if (table, column) != ("account", "provider_id")
                else "provider_id = 'github'"
            )
            other = (
                f" || (SELECT count(*) FROM {table} t WHERE t.id < {table}.id)" if column == "email" else ""
            )
            running.execute(f"UPDATE {table} SET {column} = '{FOREIGN}'{other} WHERE {own}")
    running.execute("UPDATE api_key SET enabled = 0")
    running.execute("UPDATE invitation SET id = 'foreign'")


async def pages(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the name of each page that shows foreign texts, while it is shown."""
    names = "profile email password second-factor passkeys sessions connections api-keys history data delete"
    for name in ("", *names.split(), "sign-in", "sign-out"):
        await visitor.open(f"/account/{name}".rstrip("/"))
        yield name
    async for name in organization_pages(visitor):
        yield name
    word = quote(FOREIGN[:200])
    for path in (
        f"error?error=x&error_description={word}",
        f"sign-in/code?email={word}",
        f"mail-sent?email={word}",
    ):
        await visitor.open(f"/account/{path}")
        yield path.partition("?")[0]
    await visitor.open("/account/profile")
    await visitor.page.evaluate(
        "(text) => document.querySelectorAll('[name=account], [name=user]').forEach((one) => one.value = text)",
        FOREIGN,
    )
    await visitor.send("/account/profile", name="Another")
    yield "other account"
    await visitor.open("/account/profile")
    visitor.site.execute("UPDATE user SET updated_at = updated_at + 1000")
    await visitor.send("/account/profile", name="Another")
    yield "stale profile"
    visitor.site.execute("UPDATE session SET created_at = created_at - 864000000")
    await visitor.open("/account/password")
    yield "confirm"


async def organization_pages(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the name of each page of an organization."""
    await visitor.open("/account/organizations")
    yield "organizations"
    await visitor.page.locator("main h3 a").click()
    await visitor.page.wait_for_load_state()
    yield "organization"
    acme = urlsplit(visitor.page.url).path
    for link in ("/edit", "/leave", "/delete", "/member?", "/team?"):
        await visitor.open(acme)
        await visitor.page.locator(f"main a[href*='{link}']").last.click()
        await visitor.page.wait_for_load_state()
        yield f"organization{link}"
        if link.endswith("?"):
            await visitor.page.locator("main a[href*='/remove?']").click()
            await visitor.page.wait_for_load_state()
            yield f"organization{link}, removal"
    for invitation in ("inv_foreign", "foreign"):
        await visitor.open(f"/account/invitation/{invitation}")
        yield f"invitation {invitation}"


async def faults(page: Page, name: str) -> list[str]:
    """Return what is wrong with the page that is shown."""
    found = [f"{name}: mixed with {fault}" for fault in await page.evaluate(UNMARKED)]
    for size in SIZES:
        await page.set_viewport_size(size)
        wide = await page.evaluate(OVERFLOW)
        found += [f"{name}: wider than {size['width']} pixels: {one}" for one in wide]
    return found


@pytest.mark.threat("H3")
@pytest.mark.parametrize("locale", ["en", "ar"])
async def test_foreign_texts_change_neither_the_layout_nor_the_text_around_them(
    browser: Browser, running: Site, locale: str
) -> None:
    found: list[str] = []
    async with browsing(browser, locale=locale) as page:
        visitor = Visitor(page, running)
        await populate(visitor)
        make_foreign(running)
        async for name in pages(visitor):
            found += await faults(page, name)

    assert found == [], "\n".join(found)
