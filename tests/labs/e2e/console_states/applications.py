"""States of the pages of applications."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from tests.labs.e2e.console_states import DAY, ODD
from tests.labs.e2e.page_walk import ADA, Site, Visitor
from tests.service import PASSWORD

APPLICATIONS = {
    "Archive": "source = 'dynamic'",
    "Till": "disabled_at = created_at",
    "Assistant": "source = 'document', client_id = 'https://assistant.example.com/client.json'",
    "Bookshelf": "last_used_on = created_at",
}
"""Applications by name, with what is special about each; the newest has grants."""
SCOPES = "openid profile email offline_access files"
LIST, NEW = "/console/applications", "/console/applications/new"


def add(site: Site, root: str) -> None:
    """Add applications of several sources and states, and grants and a consent for the newest of them."""
    token = site.post("/sign-in/email", {"email": root, "password": PASSWORD}).json()["token"]
    for name in APPLICATIONS:
        host = f"https://{name.lower()}.example.com"
        body = {
            "client_name": name,
            "redirect_uris": [f"{host}/callback", f"{host}/other", "https://staging.example.com/callback"],
            "post_logout_redirect_uris": [host],
            "grant_types": ["authorization_code", "refresh_token"],
            "scope": SCOPES,
            "resources": ["https://api.example.com"],
            "tos_uri": f"{host}/terms",
            "contacts": ["operations@example.com"],
        }
        made = site.post("/oauth2/create-client", body, Authorization=f"Bearer {token}").json()
    now = time.time_ns() // 1_000_000
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        for number, (name, columns) in enumerate(APPLICATIONS.items()):
            database.execute(
                f"UPDATE oauth_client SET created_at = ?, {columns} WHERE client_name = ?",
                (now + number, name),
            )
        for table, columns, values in (
            (
                "oauth_grant",
                "sid, offline, scopes, resources, auth_time, amr, expires_at",
                f"'x', 1, '{SCOPES}', 'https://api.example.com', {now}, 'pwd', {now + 90 * DAY}",
            ),
            ("oauth_consent", "scopes, resources", f"'{SCOPES}', 'https://api.example.com'"),
        ):
            database.execute(
                f"INSERT INTO {table} (id, client_id, user_id, {columns}, created_at, updated_at)"
                f" SELECT substr('{table}' || id, 1, 32), ?, id, {values}, {now}, {now} FROM \"user\" LIMIT 12",
                (made["client_id"],),
            )
        # The walk follows one link to a page of each kind, from the user whom it opens first.
        database.execute(
            "INSERT OR IGNORE INTO oauth_consent (id, client_id, user_id, scopes, resources, created_at, updated_at)"
            " SELECT 'consent-of-ada', ?, id, 'openid', '', ?, ? FROM \"user\" WHERE email = ?",
            (made["client_id"], now, now, ADA),
        )
    database.close()


async def _open(visitor: Visitor, name: str) -> str:
    """Open the page of an application; return its path."""
    await visitor.open(f"{LIST}?search={name}")
    await visitor.page.locator(".row-link").first.click()
    await visitor.page.wait_for_load_state()
    return urlsplit(visitor.page.url).path


async def states(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the states of the list, an application, and their forms."""
    await visitor.open(f"{LIST}?search=no-such-name&state=disabled")
    yield "console-applications-nothing-found"
    for name in APPLICATIONS:
        await _open(visitor, name)
        yield f"console-applications-id-{name.lower()}"
    await visitor.open(f"{LIST}?source=config")
    await visitor.page.locator(".row-link").first.click()
    await visitor.page.wait_for_load_state()
    configured = urlsplit(visitor.page.url).path
    yield "console-applications-id-configured"
    await visitor.open(f"{configured}/edit")
    yield "console-applications-id-edit-configured"
    books = await _open(visitor, "Bookshelf")
    await visitor.open(f"{books}/edit")
    await visitor.send(
        f"{books}/edit", redirectUris="bookshelf.example.com", tosUri="http://bookshelf.example.com"
    )
    yield "console-applications-id-edit-refused"
    await visitor.open(f"{books}/delete")
    await visitor.send(f"{books}/delete", typedApplication="another")
    yield "console-applications-id-delete-refused"
    await visitor.open(f"{books}/rotate-secret")
    await visitor.send(f"{books}/rotate-secret")
    yield "console-applications-secret"
    for kind in ("web", "native", "machine"):
        await visitor.open(f"{NEW}?kind={kind}")
        yield f"console-applications-new-{kind}"
    await visitor.send(NEW, name="Nightly")
    yield "console-applications-new-refused"


async def odd_states(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the list and an application with odd texts."""
    await asyncio.to_thread(_change, visitor.site)
    await visitor.open(LIST)
    yield "console-applications-odd"
    await visitor.page.locator(".row-link").first.click()
    await visitor.page.wait_for_load_state()
    yield "console-applications-id-odd"


def _change(site: Site) -> None:
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        database.execute(
            "UPDATE oauth_client SET client_name = ?, registration = replace(registration, 'https://bookshelf.',"
            " ?) WHERE client_name = 'Bookshelf'",
            (ODD[0][:64], f"https://{'long.' * 40}"),
        )
    database.close()
