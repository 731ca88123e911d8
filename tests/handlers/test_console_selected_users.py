"""Several users at once in the console."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, other_profile, recorded, send, stored_user
from tests.handlers.steps import UNKNOWN, execute, join, set_user
from tests.handlers.test_console import ROOT, administrator
from tests.service import Service
from tests.trail import of_event

SELECTED = "/console/users/selected"
ROLES = '{"support": {"user": ["list", "get", "ban"], "session": ["revoke"]}, "reader": {"user": ["list"]}}'
NAMES = ("ann", "bob", "eve")
RANK = "You cannot change this user: they have powers that you do not have."


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**SETTINGS, "limits.enabled": "false", "admin.roles": ROLES})


@pytest.fixture
async def ids(service: Service) -> list[str]:
    """Three users who are signed in elsewhere."""
    for name in NAMES:
        with other_profile(service):
            await join(service, f"{name}@example.com")
        await set_user(service, f"{name}@example.com", name=name.title())
    service.clock.advance(minutes=1)
    return [(await stored_user(service, f"{name}@example.com")).id for name in NAMES]


@pytest.fixture
async def root(service: Service, ids: list[str]) -> Browser:
    """The browser of an administrator."""
    return await administrator(service)


async def choose(browser: Browser, act: str, *ids: str) -> Page:
    """Tick users in the list and press a button, as a browser without scripts does."""
    return await browser.open(f"{SELECTED}?{'&'.join(f'id={each}' for each in ids)}&act={act}")


async def banned(service: Service) -> list[str]:
    """Return the names of the banned users."""
    rows = await service.rows('SELECT name FROM "user" WHERE banned ORDER BY name')
    return [name for (name,) in rows]


async def sessions_of(service: Service, user_id: str) -> int:
    return len(await service.rows("SELECT id FROM session WHERE user_id = :id", id=user_id))


@pytest.mark.operation("console.selected_users.show")
class TestConfirmation:
    async def test_the_list_leads_to_it(self, root: Browser, ids: list[str]) -> None:
        page = await root.open("/console/users")

        assert SELECTED in {form.action for form in page.forms}
        text = (await root.service.get("/console/users")).text
        assert set(re.findall(r'name="id" value="(\w+)"', text)) > set(ids)
        assert re.findall(r'name="act" value="([\w-]+)"', text) == ["ban", "unban", "end-sessions"]

    @pytest.mark.parametrize(
        ("act", "title"),
        [
            ("ban", "Ban 3 users"),
            ("unban", "Lift the bans of 3 users"),
            ("end-sessions", "End all sessions of 3 users"),
        ],
    )
    async def test_it_names_the_number_and_the_users(
        self, root: Browser, ids: list[str], act: str, title: str
    ) -> None:
        page = await choose(root, act, *ids)

        assert page.title == f"{title} · Gatewright"
        assert [name for name in NAMES if f"{name}@example.com" not in page.text] == []
        assert ("reason" in page.inputs) == (act == "ban")

    async def test_nobody_is_selected(self, root: Browser) -> None:
        page = await choose(root, "ban")
        assert (page.status, "No user is selected." in page.text) == (200, True)

    async def test_it_is_for_callers_who_may(self, service: Service, ids: list[str]) -> None:
        browser = await administrator(service, "reader@example.com", "reader")
        assert SELECTED not in {form.action for form in (await browser.open("/console/users")).forms}

        page = await choose(browser, "ban", *ids)
        assert (page.status, "YOU_ARE_NOT_ALLOWED_TO_BAN_USERS" in page.text) == (403, True)
        answer = await send(
            service, SELECTED, act="end-sessions", users=f"{ids[0]}:1", account="reader@example.com"
        )
        assert answer.status_code == 403
        assert await sessions_of(service, ids[0]) == 1

    @pytest.mark.threat("C6")
    async def test_more_than_fifty_are_refused_by_name(self, root: Browser) -> None:
        page = await choose(root, "ban", *(f"u{number}" for number in range(51)))
        assert (page.status, "“id”" in page.text) == (400, True)

        many = ",".join(f"u{number}:1" for number in range(51))
        answer = await send(root.service, SELECTED, act="ban", users=many, lasts="ever", account=ROOT)
        assert answer.status_code == 400
        page = await choose(root, "remove", "u1")
        assert (page.status, "“act”" in page.text) == (400, True)


@pytest.mark.operation("console.selected_users.act")
@pytest.mark.operation("console.selected_users.show_results")
class TestActing:
    async def test_users_are_banned_each_with_a_record(
        self, root: Browser, service: Service, ids: list[str]
    ) -> None:
        await choose(root, "ban", *ids[:2])
        page = await root.submit(SELECTED, reason="Spam", lasts="7")

        assert page.text.count("The user is banned, and signed out everywhere.") == 2
        assert "Done for 2 of 2 users." in page.text
        assert await banned(service) == ["Ann", "Bob"]
        records = await of_event(service, "user.banned")
        assert {row.user_id: row.details["reason"] for row in records} == dict.fromkeys(ids[:2], "Spam")
        assert [await sessions_of(service, each) for each in ids] == [0, 0, 1]

        # Showing the results again does nothing.
        again = await root.open(page.path)
        assert again.text == page.text
        assert await recorded(service, "user.banned") == 2

    async def test_bans_are_lifted(self, root: Browser, service: Service, ids: list[str]) -> None:
        for name in NAMES:
            await set_user(service, f"{name}@example.com", banned=True)
        await choose(root, "unban", *ids[:2])
        page = await root.submit(SELECTED)

        assert page.text.count("The ban is lifted.") == 2
        assert await banned(service) == ["Eve"]
        assert await recorded(service, "user.unbanned") == 2

    async def test_sessions_are_ended_and_the_own_last(
        self, root: Browser, service: Service, ids: list[str]
    ) -> None:
        own = (await stored_user(service, ROOT)).id
        await choose(root, "end-sessions", own, *ids)
        page = await root.submit(SELECTED)

        assert urlsplit(page.path).path == "/account/sign-in"
        assert [await sessions_of(service, each) for each in (own, *ids)] == [0, 0, 0, 0]

    async def test_a_wrong_date_is_shown_in_the_form(
        self, root: Browser, service: Service, ids: list[str]
    ) -> None:
        await choose(root, "ban", *ids)
        page = await root.submit(SELECTED, reason="Spam", lasts="until", until="2020-01-01")

        assert (page.status, "Enter today or a later date." in page.text) == (422, True)
        assert page.inputs["reason"]["value"] == "Spam"
        assert "Ban 3 users" in page.text
        assert await banned(service) == []

    @pytest.mark.threat("C3")
    async def test_refusals_of_one_user_do_not_stop_the_others(
        self, service: Service, ids: list[str]
    ) -> None:
        await set_user(service, "bob@example.com", role="admin")
        browser = await administrator(service, "support@example.com", "support")
        own = (await stored_user(service, "support@example.com")).id
        page = await choose(browser, "ban", own, *ids)
        assert page.text.count(RANK) == 1
        await execute(service, 'DELETE FROM "user" WHERE id = :id', id=ids[2])

        page = await browser.submit(SELECTED)

        assert "Done for 1 of 4 users." in page.text
        assert page.text.count(RANK) == 1
        assert page.text.count("You cannot ban yourself.") == 1
        assert page.text.count("This user no longer exists.") == 1
        assert await banned(service) == ["Ann"]
        assert [row.user_id for row in await of_event(service, "user.banned")] == [ids[0]]

        await choose(browser, "end-sessions", ids[1], UNKNOWN)
        page = await browser.submit(SELECTED)
        assert page.text.count(RANK) == 1
        assert await sessions_of(service, ids[1]) == 1

    @pytest.mark.threat("C3")
    async def test_the_last_administrator_stays(self, service: Service, ids: list[str]) -> None:
        await set_user(service, "bob@example.com", role="admin")
        browser = await administrator(service)
        await choose(browser, "ban", ids[1])
        await set_user(service, ROOT, role="support,user")

        page = await browser.submit(SELECTED)

        assert await banned(service) == []
        assert "Done for 0 of 1 users." in page.text

    @pytest.mark.threat("C8")
    async def test_a_form_that_is_sent_twice_acts_once(
        self, root: Browser, service: Service, ids: list[str]
    ) -> None:
        await choose(root, "ban", *ids)
        confirmation = root.page
        await root.submit(SELECTED, reason="Spam")
        service.clock.advance(seconds=1)
        root.page = confirmation

        page = await root.submit(SELECTED, reason="Spam")

        assert page.text.count("The user was changed meanwhile, so nothing was done.") == 3
        assert await recorded(service, "user.banned") == 3

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(
        self, root: Browser, service: Service, ids: list[str]
    ) -> None:
        await choose(root, "ban", *ids[:2])
        service.clock.advance(seconds=1)
        answer = await service.post("/admin/ban-user", {"userId": ids[0], "banReason": "Other"})
        assert answer.status_code == 200

        page = await root.submit(SELECTED, reason="Spam")

        assert "Done for 1 of 2 users." in page.text
        assert page.text.count("The user was changed meanwhile, so nothing was done.") == 1
        assert (await stored_user(service, "ann@example.com")).ban_reason == "Other"

    @pytest.mark.threat("C3")
    async def test_results_are_for_the_administrator_who_acted(
        self, root: Browser, service: Service, ids: list[str]
    ) -> None:
        await choose(root, "end-sessions", *ids)
        path = (await root.submit(SELECTED)).path
        assert list(parse_qs(urlsplit(path).query)) == ["results"]

        with other_profile(service):
            other = await administrator(service, "other@example.com")
            assert (await other.open(path)).title == "Users · Gatewright"
        assert (await root.open(path)).title == "Results · Gatewright"
        assert (await root.open(path[:-9] + path[-8:])).title == "Users · Gatewright"
        service.clock.advance(hours=1)
        assert (await root.open(path)).title == "Users · Gatewright"
