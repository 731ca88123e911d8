"""The list of users in the console."""

import base64
import csv
import io
import json
import re
from datetime import timedelta

import pytest

from models.lease import Lease
from tests import rows
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, recorded, stored_user
from tests.handlers.steps import execute, join, set_user
from tests.handlers.test_console import ROOT, administrator
from tests.service import Service
from tests.trail import of_event

USERS = "/console/users"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**SETTINGS, "limits.enabled": "false", "console.page_size": "10"})


@pytest.fixture
async def browser(service: Service) -> Browser:
    """An administrator's, with three other users there."""
    for name in ("ann", "anna", "bob"):
        await join(service, f"{name}@example.com")
        await set_user(service, f"{name}@example.com", name=f"{name.title()} Nilsson")
        service.clock.advance(hours=1)
    return await administrator(service)


def addresses(page: Page) -> list[str]:
    """Return the addresses of the list, in its order, without that in the top bar."""
    return [word for word in page.text.split() if "@" in word][1:]


@pytest.mark.operation("console.users.show_list")
class TestList:
    async def test_it_shows_the_newest_user_first(self, browser: Browser) -> None:
        page = await browser.open(USERS)

        assert addresses(page) == [ROOT, "bob@example.com", "anna@example.com", "ann@example.com"]
        assert "3 hours ago" in page.text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("search=ann", ["anna", "ann"]),
            ("search=ANNA", ["anna"]),
            ("search=Bob+Nil", ["bob"]),
            ("search=nilsson", ["bob", "anna", "ann"]),
            ("search=nn&match=contains", ["anna", "ann"]),
            ("search=nn&match=starts_with", []),
            ("banned=true", ["bob"]),
            ("banned=false&search=nilsson", ["anna", "ann"]),
            ("twoFactor=true", ["anna"]),
            ("verified=true", ["ann"]),
            ("role=admin", ["root"]),
            ("provider=credential&search=ann", ["anna", "ann"]),
            ("provider=google", []),
            ("from=2026-01-02", []),
            ("from=2026-01-01&to=2026-01-01&search=b", ["bob"]),
            ("to=2025-12-31", []),
            ("sort=email&search=nilsson", ["ann", "anna", "bob"]),
            ("sort=name", ["ann", "anna", "bob", "root"]),
            ("search=%25", []),
        ],
    )
    async def test_it_searches_and_filters(
        self, service: Service, browser: Browser, query: str, expected: list[str]
    ) -> None:
        await set_user(service, "bob@example.com", banned=True)
        await set_user(service, "anna@example.com", two_factor_enabled=True)
        await set_user(service, "ann@example.com", email_verified=True)

        page = await browser.open(f"{USERS}?{query}")

        assert addresses(page) == [f"{name}@example.com" for name in expected]

    async def test_it_finds_an_id_and_a_username(self, service: Service, browser: Browser) -> None:
        await set_user(service, "bob@example.com", username="bobby")
        [(user_id,)] = await service.rows("SELECT id FROM \"user\" WHERE username = 'bobby'")

        assert addresses(await browser.open(f"{USERS}?search={user_id}")) == ["bob@example.com"]
        assert addresses(await browser.open(f"{USERS}?search=Bobby")) == ["bob@example.com"]

    async def test_it_says_what_it_searched(self, browser: Browser) -> None:
        page = await browser.open(f"{USERS}?search=ann")
        assert "Names and email addresses that begin with “ann”" in page.text

        page = await browser.open(page.links["Search anywhere in them"])
        assert "that contain “ann”" in page.text

    async def test_it_says_that_nobody_matches(self, browser: Browser) -> None:
        page = await browser.open(f"{USERS}?search=nobody&banned=true")

        assert "No user matches." in page.text
        assert page.links["Clear the filters"] == USERS

    async def test_it_shows_how_users_sign_in(self, service: Service, browser: Browser) -> None:
        page = await browser.open(f"{USERS}?search=bob")
        assert "Password" in page.text

        await execute(service, "DELETE FROM account")
        page = await browser.open(f"{USERS}?search=bob")
        assert "none" in page.text

    @pytest.mark.parametrize("sort", ["", "email", "name"])
    async def test_pages_lead_forth_and_back(self, service: Service, browser: Browser, sort: str) -> None:
        for number in range(21):
            await join(service, f"user{number:02}@example.com")
        await set_user(service, "user05@example.com", name="user")
        await execute(service, "UPDATE \"user\" SET name = 'Same' WHERE email LIKE 'user1%'")
        await administrator_again(browser)
        older, newer = ("Next", "Previous") if sort else ("Older", "Newer")
        page = await browser.open(f"{USERS}?sort={sort}")
        seen = [addresses(page)]
        while older in page.links:
            page = await browser.open(page.links[older])
            seen.append(addresses(page))
        assert [len(rows) for rows in seen] == [10, 10, 5]
        assert len({row for rows in seen for row in rows}) == 25

        back = [addresses(page)]
        while newer in page.links:
            page = await browser.open(page.links[newer])
            back.append(addresses(page))
        assert back == seen[::-1]

    async def test_it_needs_the_permission(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"support": {"user": ["ban"]}}'})
        browser = await administrator(service, role="support")

        page = await browser.open(USERS)

        assert page.status == 403
        assert "YOU_ARE_NOT_ALLOWED_TO_LIST_USERS" in page.text


async def administrator_again(browser: Browser) -> None:
    """Sign in as the administrator, after others have signed up."""
    browser.service.client.cookies.clear()
    await browser.open("/account/sign-in")
    await browser.submit("/account/sign-in", identifier=ROOT, password="correct horse battery")


@pytest.mark.threat("C4")
@pytest.mark.threat("H3")
async def test_a_name_is_text(service: Service, browser: Browser) -> None:
    await set_user(service, "bob@example.com", name="<script>alert(1)</script>", username='"><b>')

    text = (await service.get(USERS)).text

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def position(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.threat("C6")
class TestForgedQueries:
    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ("banned=perhaps", "banned"),
            ("verified=1", "verified"),
            ("sort=password", "sort"),
            ("match=regex", "match"),
            ("from=2026-02-31", "from"),
            ("to=9999-12-31", "to"),
            ("from=yesterday", "from"),
            ("search=" + "x" * 255, "search"),
            ("search=a&search=b", "search"),
            ("search=%00", "search"),
            ("after=x", "after"),
            (f"after={position('email', 'a', 'b')}", "after"),
            (f"after={position('created', 10**30, 'b')}", "after"),
            (f"after={position('created', True, 'b')}", "after"),
            (f"after={position('created', 1, None)}", "after"),
            (f"after={position('created', 1)}", "after"),
            (f"sort=email&after={position('email', chr(0), 'b')}", "after"),
            (f"sort=email&before={position('email', 'a', chr(0xD800))}", "before"),
            (f"after={position('created', 1, 'b')}&before={position('created', 1, 'b')}", "before"),
        ],
    )
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, service: Service, browser: Browser, query: str, name: str
    ) -> None:
        page = await browser.open(f"{USERS}?{query}")

        assert page.status == 400
        assert re.search(rf"\b{name}\b", page.text)

    @pytest.mark.parametrize(
        "query", ["role=nothing", "provider=%27", "after=" + position("created", -1, "x" * 100)]
    )
    async def test_a_filter_for_nobody_shows_nobody(self, browser: Browser, query: str) -> None:
        page = await browser.open(f"{USERS}?{query}")

        assert (page.status, addresses(page)) == (200, [])

    async def test_unknown_parameters_and_words_are_ignored(self, browser: Browser) -> None:
        page = await browser.open(f"{USERS}?unknown=1&limit=100000&offset=-1")

        assert len(addresses(page)) == 4


@pytest.mark.operation("console.users.export")
class TestExport:
    async def test_it_has_the_users_that_are_filtered(self, service: Service, browser: Browser) -> None:
        await set_user(service, "bob@example.com", banned=True)
        page = await browser.open(f"{USERS}?search=nilsson&banned=false&sort=email&from=2026-01-01")

        answer = await service.get(page.links["Export as CSV"])

        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["content-disposition"].startswith('attachment; filename="users-')
        lines = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
        assert [line["email"] for line in lines] == ["anna@example.com", "ann@example.com"]
        [record] = await of_event(service, "admin.exported")
        filters = {"search": "nilsson", "banned": "false", "createdFrom": "2026-01-01T00:00:00Z"}
        assert record.details == {"export": "users", "filters": filters, "rows": 2, "complete": True}

    @pytest.mark.threat("C13")
    async def test_an_administrator_has_one_at_a_time(self, service: Service, browser: Browser) -> None:
        root = await stored_user(service, ROOT)
        until = service.clock.now + timedelta(minutes=1)
        await rows.add(
            service.services.database, Lease(name=f"export {root.id}", holder="another process", until=until)
        )

        page = await browser.open(f"{USERS}/export")

        assert page.status == 409
        assert "Another export of yours is still running." in page.text
        assert (await browser.open(USERS)).status == 200

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize("query", ["banned=1", "match=regex", "from=x", "search=a&search=b"])
    async def test_a_wrong_filter_is_refused_by_name(
        self, service: Service, browser: Browser, query: str
    ) -> None:
        page = await browser.open(f"{USERS}/export?{query}")

        assert (page.status, f"“{query.partition('=')[0]}”" in page.text) == (400, True)
        assert await service.rows("SELECT name FROM lease WHERE name LIKE 'export %'") == []


@pytest.mark.threat("C7")
class TestScraping:
    async def test_pages_are_limited_and_recorded_once_a_minute(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "limits.requests": "20"})
        browser = await administrator(service)

        statuses = [(await browser.open(f"{USERS}?search={number}")).status for number in range(30)]

        assert statuses == [200] * 20 + [429] * 10
        root = await stored_user(service, ROOT)
        [record] = await of_event(service, "admin.users_searched")
        assert (record.actor_id, record.outcome, record.details) == (root.id, "success", {})

        for path in (USERS, "/admin/search-users", "/admin/list-users"):
            service.clock.advance(minutes=1)
            for _ in range(2):
                assert (await service.get(path)).status_code == 200
        assert await recorded(service, "admin.users_searched") == 4

    async def test_administrators_are_recorded_each(self, service: Service, browser: Browser) -> None:
        await browser.open(USERS)
        service.client.cookies.clear()
        other = await administrator(service, "other@example.com")
        await other.open(USERS)

        assert len({record.actor_id for record in await of_event(service, "admin.users_searched")}) == 2
