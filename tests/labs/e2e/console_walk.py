"""A walk through the console: every page that a link leads to, with no users, a few and many, and states of forms.

Pages are found by their links, so that a new page is part of the walk as soon as another one links to it.
"""

import asyncio
import re
import secrets
import sqlite3
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from urllib.parse import urlsplit

from playwright.async_api import Page

from tests.discovery import modules
from tests.labs.e2e import console_states
from tests.labs.e2e.console_states import DAY, ODD
from tests.labs.e2e.page_walk import ADA, AGENTS, CONSOLE_PAGES, Site, Visitor
from tests.live import administrator
from tests.service import PASSWORD

PEOPLE = (
    "Ada Lovelace", "Grace Hopper", "Alan Turing", "Katherine Johnson", "Edsger Dijkstra", "Barbara Liskov",
    "Linus Torvalds", "Radia Perlman", "Donald Knuth", "Margaret Hamilton", "Tim Berners-Lee", "Frances Allen",
)  # fmt: skip
MANY = 60
CAPABILITIES = tuple(modules(console_states))
"""The modules with states of the pages of capabilities."""
ORGANIZATION = {"name": "Analytical Engines", "slug": "engines", "metadata": {"plan": "free"}}


def name_of(path: str) -> str:
    """Return the name of the pictures of a page, by its path in the OpenAPI document."""
    return "-".join(re.findall(r"[\w-]+", path))


def template_of(path: str) -> str | None:
    """Return the path in the OpenAPI document of a page of the console; None for other pages."""
    found = [template for template, pattern in PATTERNS if pattern.fullmatch(path)]
    return found[0] if found else None


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    paths = {one.path for one in CONSOLE_PAGES.values()}
    for path in sorted(paths, key=lambda one: (one.count("{"), one)):
        yield path, re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)))


PATTERNS: Sequence[tuple[str, re.Pattern[str]]] = tuple(_patterns())
"""Every path of the console, those without parameters first."""


async def walk_console(page: Page, site: Site) -> AsyncIterator[str]:
    """Yield the name of every state while the page shows it."""
    visitor = Visitor(page, site)
    root = await asyncio.to_thread(administrator, site.origin, site.directory)
    await visitor.sign_in(email=root)
    # The figures of the overview are kept for a minute, so it is opened when there are some.
    for path in [template for template, _ in PATTERNS if "{" not in template and template != "/console"]:
        await visitor.open(path)
        yield f"{name_of(path)}-first"
    await asyncio.to_thread(_add_people, site)
    for module in CAPABILITIES:
        await asyncio.to_thread(module.add, site, root)
    async for name in _linked(visitor):
        yield name
    async for name in _forms(visitor, root):
        yield name
    for module in CAPABILITIES:
        async for name in module.states(visitor):
            yield name
    await asyncio.to_thread(_add_odd, site)
    async for name in _odd(visitor):
        yield name
    for module in CAPABILITIES:
        async for name in module.odd_states(visitor):
            yield name
    async for name in _impersonation(visitor):
        yield name


async def _linked(visitor: Visitor) -> AsyncIterator[str]:
    """Follow the links of the console, one to each page of the OpenAPI document: the first that is found."""
    left = deque(["/console", f"/console/users/{_id_of(visitor.site, ADA)}"])
    seen: set[str | None] = {None}
    while left:
        address = left.popleft()
        template = template_of(urlsplit(address).path)
        if template in seen:
            continue
        seen.add(template)
        await visitor.open(address)
        links = await visitor.page.eval_on_selector_all(
            'a[href^="/console"]:not([download])', "(links) => links.map((link) => link.getAttribute('href'))"
        )
        left += [link for link in links if "ui_locales=" not in link]
        yield name_of(str(template))


async def _forms(visitor: Visitor, root: str) -> AsyncIterator[str]:
    user = f"/console/users/{_id_of(visitor.site, ADA)}"
    await visitor.open("/console/users?search=nobody-has-this-name")
    yield "console-users-nothing-found"
    await visitor.open("/console/users?search=ada&role=admin&from=2020-01-01")
    yield "console-users-filtered"
    await visitor.open("/console/users?from=yesterday")
    yield "console-users-refused"
    await visitor.open("/console/search?search=ada")
    yield "console-search-found"
    await visitor.open("/console/users/nobody")
    yield "console-user-unknown"
    await visitor.open(f"/console/users/{_id_of(visitor.site, root)}")
    yield "console-users-id-own"
    await visitor.open("/console/users?search=frances")
    await visitor.page.locator("[data-select]").first.check()
    await visitor.page.locator("button[value=end-sessions]").click()
    await visitor.page.wait_for_load_state()
    yield "console-users-selected-one"
    await visitor.page.locator("main form[method=post] button[type=submit]").first.click()
    await visitor.page.wait_for_load_state()
    yield "console-users-selected-done"
    await visitor.open("/console/users/new")
    await visitor.send("/console/users/new", name="Ada", email="ada")
    yield "console-users-new-refused"
    await visitor.open(f"/console/api-keys/new?owner={ADA}")
    await visitor.send("/console/api-keys/new", name="Nightly backup")
    yield "console-api-keys-created"
    await visitor.open(f"{user}/delete")
    await visitor.send(f"{user}/delete", typed="somebody@example.com")
    yield "console-users-id-delete-refused"
    await visitor.open("/console/organizations?search=no-such-name&withoutOwner=true")
    yield "console-organizations-nothing-found"
    await visitor.open("/console/organizations?search=engines")
    await visitor.page.locator(".row-link").first.click()
    await visitor.page.wait_for_load_state()
    organization = urlsplit(visitor.page.url).path
    await visitor.open(f"{organization}/add-member")
    await visitor.send(f"{organization}/add-member", member="nobody")
    yield "console-organizations-id-add-member-refused"
    await visitor.open(f"{organization}/delete")
    await visitor.send(f"{organization}/delete", typedSlug="another")
    yield "console-organizations-id-delete-refused"
    await visitor.open(f"{user}/ban")
    await visitor.page.locator("[name=lasts][value=until]").check()
    await visitor.send(f"{user}/ban", until="2001-01-01")
    yield "console-users-id-ban-refused"
    await visitor.open(f"{user}/ban")
    await visitor.send(f"{user}/ban", reason="Sends spam to everybody in the address book.")
    yield "console-users-id-banned"


async def _odd(visitor: Visitor) -> AsyncIterator[str]:
    await visitor.open("/console/users")
    yield "console-users-odd"
    await visitor.open("/console/users?sort=name")
    await visitor.page.locator(".pager a").first.click()
    await visitor.page.wait_for_load_state()
    yield "console-users-odd-next"
    for number in range(len(ODD)):
        await visitor.open(f"/console/users/{_id_of(visitor.site, _odd_address(number))}")
        yield f"console-users-id-odd-{number}"
    await visitor.open(f"/console/users/{_id_of(visitor.site, _odd_address(0))}/delete")
    yield "console-users-id-delete-odd"
    await visitor.open("/console/search?search=a-name")
    yield "console-search-odd"


async def _impersonation(visitor: Visitor) -> AsyncIterator[str]:
    user = f"/console/users/{_id_of(visitor.site, _odd_address(1))}"
    await visitor.open(f"{user}/impersonate")
    await visitor.send(f"{user}/impersonate")
    yield "console-impersonating"
    assert urlsplit(visitor.page.url).path == "/account"
    await visitor.open("/console")
    yield "console-refused-while-impersonating"


def _odd_address(number: int) -> str:
    return f"{'odd-address' * (5 if number % 2 else 1)}-{number}@example.com"


def _id_of(site: Site, email: str) -> str:
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        found = _user_id(database, email)
    database.close()
    return found


def _user_id(database: sqlite3.Connection, email: str) -> str:
    [(found,)] = database.execute('SELECT id FROM "user" WHERE email = ?', (email,))
    return str(found)


def _add_people(site: Site) -> None:
    """Add users as an installation has them: with sessions, passkeys, connections, keys, and a ban."""
    for name in PEOPLE[:1]:
        user = {"name": name, "email": ADA, "password": PASSWORD}
        site.post("/sign-up/email", user)
        for agent in AGENTS:
            session = site.post(
                "/sign-in/email", {"email": ADA, "password": PASSWORD}, **{"User-Agent": agent}
            )
        bearer = {"Authorization": f"Bearer {session.json()['token']}"}
        site.post("/api-key/create", {"name": "deployment"}, **bearer)
        of = {"organizationId": site.post("/organization/create", ORGANIZATION, **bearer).json()["id"]}
        site.post(
            "/organization/invite-member", {**of, "email": "guest@example.com", "role": "admin"}, **bearer
        )
    now = time.time_ns() // 1_000_000
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        for number, name in enumerate(PEOPLE[1:], 1):
            _add_user(database, name, f"{name.split()[0].lower()}@example.com", now - number**2 * DAY, number)
        database.execute(
            'UPDATE "user" SET two_factor_enabled = 1, email_verified = 1 WHERE email = ?', (ADA,)
        )
        database.execute("UPDATE \"user\" SET role = 'admin,user' WHERE email = 'grace@example.com'")
        database.execute(
            "UPDATE \"user\" SET banned = 1, ban_reason = 'Spam' WHERE email = 'linus@example.com'"
        )
        database.execute(
            "INSERT INTO passkey (id, user_id, name, credential_id, public_key, algorithm, counter, device_type,"
            " backed_up, rp_id, created_at, updated_at)"
            " SELECT id, id, 'Laptop', id, x'00', -7, 0, 'multiDevice', 1, 'localhost', created_at, created_at"
            ' FROM "user" WHERE email = ?',
            (ADA,),
        )
        _connect(database, _user_id(database, ADA), "github", now)
        for day in range(1, 30):
            _add_counts(database, now // DAY * DAY - day * DAY, day)
    database.close()


def _add_odd(site: Site) -> None:
    """Add many users, among them those with odd names, and give them odd reasons and connections."""
    now = time.time_ns() // 1_000_000
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        for number in range(MANY):
            name = ODD[number] if number < len(ODD) else f"User {number}"
            _add_user(database, name, _odd_address(number), now - DAY * number // 1000, number)
        database.execute(
            'UPDATE "user" SET banned = 1, ban_reason = ?, image = ? WHERE email = ?',
            (ODD[0], f"https://example.com/{ODD[0]}", _odd_address(0)),
        )
    database.close()


def _add_user(database: sqlite3.Connection, name: str, email: str, created: int, number: int) -> None:
    user_id = secrets.token_hex(16)
    database.execute(
        'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at, updated_at)'
        " VALUES (?, ?, ?, ?, 0, 'user', 0, ?, ?)",
        (user_id, name, email, number % 5 != 2, created, created),
    )
    for provider in (("credential",), ("github",), ("credential", "google"))[number % 3]:
        _connect(database, user_id, provider, created)
    if number % 4:
        database.execute(
            "INSERT INTO audit (id, time, event, outcome, user_id, actor_id, details)"
            " VALUES (?, ?, 'sign_in.succeeded', 'success', ?, ?, '{}')",
            (secrets.token_hex(16), (created + time.time_ns() // 1_000_000) // 2, user_id, user_id),
        )


def _add_counts(database: sqlite3.Connection, day: int, number: int) -> None:
    for event, way_in, code, most in (
        ("user.created", "", "", 23),
        ("sign_in.succeeded", "credential", "", 190),
        ("sign_in.succeeded", "github", "", 70),
        ("sign_in.failed", "credential", "INVALID_EMAIL_OR_PASSWORD", 17),
    ):
        database.execute(
            "INSERT INTO daily_count (day, event, way_in, code, count) VALUES (?, ?, ?, ?, ?)",
            (day, event, way_in, code, most * (20 + number * 7 % 11) // 30),
        )


def _connect(database: sqlite3.Connection, user_id: str, provider: str, created: int) -> None:
    database.execute(
        "INSERT INTO account (id, account_id, issuer, provider_id, user_id, created_at, updated_at)"
        " VALUES (?, ?, '', ?, ?, ?, ?)",
        (secrets.token_hex(16), user_id, provider, user_id, created, created),
    )
