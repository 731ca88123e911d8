"""The audit trail in the console: the list, one event, the export, and the events of a user."""

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest

from models import Audit
from models.base import to_milliseconds
from tests import rows
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, recorded, stored_user
from tests.handlers.steps import ADA, UNKNOWN, set_user
from tests.handlers.test_console import ROOT
from tests.handlers.test_console_user import add, administrator
from tests.service import START, Service
from tests.trail import forget

AUDIT = "/console/audit"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**SETTINGS, "limits.enabled": "false", "console.page_size": "10"})


@pytest.fixture
async def browser(service: Service) -> Browser:
    """An administrator's, with a user and an empty trail."""
    await add(service, ADA, name="Ada Lovelace")
    browser = await administrator(service)
    await forget(service)
    return browser


async def happen(service: Service, *events: Audit) -> None:
    """Add records."""
    await rows.add(service.services.database, *events)


def event(number: int, name: str = "sign_out", **columns: object) -> Audit:
    """Return a record; a larger number is newer."""
    values: dict[str, Any] = {"outcome": "success", **columns}
    return Audit(id=f"e{number:03}", time=START + timedelta(minutes=number), event=name, **values)


def shown(page: Page) -> list[str]:
    """Return the ids of all events that the page links to, newest first."""
    return sorted(
        {one.rpartition("/")[2] for one in page.targets if re.search(r"/audit/e[0-9]{3}$", one)}, reverse=True
    )


@pytest.mark.operation("console.audit.show_list")
class TestList:
    async def test_it_shows_what_happened_in_words_and_code(self, service: Service, browser: Browser) -> None:
        ada = await stored_user(service)
        await happen(
            service,
            event(1, "sign_in.failed", outcome="failure", user_id=ada.id, address="203.0.113.7"),
            event(2, "user.banned", user_id=ada.id, actor_id=UNKNOWN),
            event(3, "an.old_event", details={"by": "operator"}),
        )

        page = await browser.open(AUDIT)

        assert shown(page) == ["e003", "e002", "e001"]
        for text in ("The account was blocked", "user.banned", "sign_in.failed", "203.0.113.7", "Failure",
                     "Ada Lovelace", "an.old_event", "Operator"):  # fmt: skip
            assert text in page.text
        assert page.links["Audit"] == AUDIT

    @pytest.mark.parametrize(
        ("by", "actor"),
        [("operator", "Operator"), ("directory", "Directory (SCIM)"), ("connection", "Single sign-on")],
    )
    async def test_it_says_who_acted_if_no_user_did(
        self, service: Service, browser: Browser, by: str, actor: str
    ) -> None:
        await happen(service, event(1, "member.added", details={"by": by}))

        for path in (AUDIT, f"{AUDIT}/e001"):
            assert f"<span>{actor}</span>" in (await service.get(path)).text, path

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("event=user.banned", ["e002"]),
            ("event=unknown", []),
            ("group=sign_in", ["e001"]),
            ("subject=ada@example.com", ["e002", "e001"]),
            ("subject=nobody", []),
            ("actor=root@example.com", ["e002"]),
            ("network=203.0.113.7", ["e001"]),
            ("network=203.0.113.0/24", ["e001"]),
            ("outcome=failure", ["e001"]),
            ("outcome=success&group=user", ["e002"]),
            ("from=2026-01-01&to=2026-01-01", ["e003", "e002", "e001"]),
            ("to=2025-12-31", []),
            ("from=2026-01-02", []),
            ("event=&group=&subject=&actor=&network=&outcome=&from=&to=", ["e003", "e002", "e001"]),
        ],
    )
    async def test_it_filters(
        self, service: Service, browser: Browser, query: str, expected: list[str]
    ) -> None:
        ada, root = await stored_user(service), await stored_user(service, ROOT)
        await happen(
            service,
            event(1, "sign_in.failed", outcome="failure", user_id=ada.id, address="203.0.113.7"),
            event(2, "user.banned", user_id=ada.id, actor_id=root.id),
            event(3),
        )

        page = await browser.open(f"{AUDIT}?{query}")

        assert (page.status, shown(page)) == (200, expected)
        if not expected:
            assert page.links["Clear the filters"] == AUDIT

    @pytest.mark.both_databases
    @pytest.mark.parametrize("query", ["", "group=sign_in", "subject=ada@example.com"])
    async def test_pages_lead_forth_and_back(self, service: Service, browser: Browser, query: str) -> None:
        ada = await stored_user(service)
        names = ("sign_in.failed", "sign_in.succeeded")
        events = [event(number // 3, names[number % 2], user_id=ada.id) for number in range(25)]
        for number, one in enumerate(events):
            one.id = f"e{number:03}"
        await happen(service, *events)

        page = await browser.open(f"{AUDIT}?{query}")
        seen = [shown(page)]
        assert "Newer" not in page.links
        while "Older" in page.links:
            page = await browser.open(page.links["Older"])
            seen.append(shown(page))
        assert [len(ids) for ids in seen] == [10, 10, 5]
        assert len({one for ids in seen for one in ids}) == 25

        back = [shown(page)]
        while "Newer" in page.links:
            page = await browser.open(page.links["Newer"])
            back.append(shown(page))
        assert back == seen[::-1]

    async def test_it_needs_the_permission(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"support": {"user": ["list", "get"]}}'})
        user = await add(service, ADA)
        browser = await administrator(service, "support")

        assert "Audit" not in (await browser.open(user)).links
        for path in (AUDIT, f"{AUDIT}/export", f"{AUDIT}/{UNKNOWN}"):
            assert (await browser.open(path)).status == 403

    async def test_it_names_users_only_to_callers_who_may_read_them(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"auditor": {"service": ["manage"]}}'})
        await add(service, ADA, name="Ada Lovelace")
        browser = await administrator(service, "auditor")

        page = await browser.open(AUDIT)

        assert (page.status, "Ada Lovelace" in page.text) == (200, False)


@pytest.mark.threat("C6")
class TestForgedQueries:
    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ("outcome=perhaps", "outcome"),
            ("network=everywhere", "network"),
            ("network=10.0.0.0/9", "network"),
            ("from=2026-02-31", "from"),
            ("to=9999-12-31", "to"),
            ("subject=" + "x" * 255, "subject"),
            ("event=a&event=b", "event"),
            ("actor=%00", "actor"),
            ("after=WyJjcmVhdGVkIiwxXQ", "after"),
            ("after=-1.e", "after"),
            ("before=99999999999999999999.e", "before"),
            ("before=1.", "before"),
            ("after=1.e&before=1.e", "before"),
        ],
    )
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, browser: Browser, query: str, name: str
    ) -> None:
        page = await browser.open(f"{AUDIT}?{query}")

        assert page.status == 400
        assert re.search(rf"\b{name}\b", page.text)

    async def test_a_position_shows_no_more_than_a_page(self, service: Service, browser: Browser) -> None:
        await happen(service, *(event(number) for number in range(30)))

        for query in ("before=0.x", f"after={to_milliseconds(START) * 2}.x", "limit=1000&offset=-1"):
            assert len(shown(await browser.open(f"{AUDIT}?{query}"))) == 10


@pytest.mark.operation("console.audit.show")
class TestEvent:
    async def test_it_has_every_detail(self, service: Service, browser: Browser) -> None:
        ada, root = await stored_user(service), await stored_user(service, ROOT)
        [(session,)] = await service.rows("SELECT id FROM session WHERE user_id = :id", id=root.id)
        await happen(
            service,
            event(
                1, "user.banned", user_id=ada.id, actor_id=root.id, session_id=session, method="password",
                address="203.0.113.7", user_agent="curl/8", request_id="req_1", code="SOME_CODE",
                details={"days": 7, "reason": "Spam", "more": ["a", None]},
            ),
        )  # fmt: skip

        page = await browser.open(f"{AUDIT}/e001")

        for text in (
            "user.banned",
            "203.0.113.7",
            "curl/8",
            "req_1",
            "SOME_CODE",
            "Spam",
            "7",
            '["a",null]',
            session,
        ):
            assert text in page.text
        assert page.links["Ada Lovelace"] == f"/console/users/{ada.id}"
        assert page.links[session] == f"/console/users/{root.id}/sessions"
        assert page.links["Events about them"] == f"{AUDIT}?subject={ada.id}"
        assert page.links["Events by them"] == f"{AUDIT}?actor={root.id}"
        assert page.links["Events from there"] == f"{AUDIT}?network=203.0.113.7"

    async def test_an_unknown_event_is_not_found(self, browser: Browser) -> None:
        page = await browser.open(f"{AUDIT}/{UNKNOWN}")

        assert (page.status, "AUDIT_EVENT_NOT_FOUND" in page.text) == (404, True)


@pytest.mark.threat("C4")
async def test_what_others_have_set_is_text(service: Service, browser: Browser) -> None:
    ada = await stored_user(service)
    await set_user(service, ADA, name=SCRIPT)
    fields = ("code", "session_id", "method", "address", "user_agent", "request_id")
    await happen(
        service,
        event(
            1,
            SCRIPT,
            user_id=ada.id,
            actor_id=SCRIPT,
            details={SCRIPT: SCRIPT},
            **dict.fromkeys(fields, SCRIPT),
        ),
    )

    for path in (AUDIT, f"{AUDIT}/e001", f"{AUDIT}?subject=%3Cscript%3E", f"/console/users/{ada.id}"):
        answer = await service.get(path)
        assert (path, answer.status_code, "<script>alert" in answer.text) == (path, 200, False)


@pytest.mark.operation("console.audit.export")
class TestExport:
    @pytest.mark.threat("C4")
    @pytest.mark.threat("C13")
    async def test_it_has_what_is_filtered_and_is_recorded(self, service: Service, browser: Browser) -> None:
        await happen(
            service,
            event(1, "sign_in.failed", outcome="failure", user_agent="=cmd|' /C calc'!A0"),
            event(2, "sign_out"),
        )
        page = await browser.open(f"{AUDIT}?group=sign_in&from=2026-01-01")

        answer = await service.get(page.links["Download as CSV"])

        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        lines = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
        assert [(line["id"], line["userAgent"]) for line in lines] == [("e001", "'=cmd|' /C calc'!A0")]
        assert await recorded(service, "admin.exported") == 1

    async def test_a_wrong_filter_is_a_page(self, browser: Browser) -> None:
        page = await browser.open(f"{AUDIT}/export?network=everywhere")

        assert (page.status, page.headers["content-type"].partition(";")[0]) == (400, "text/html")


@pytest.mark.threat("C11")
async def test_the_page_of_a_user_has_the_newest_events_of_and_by_them(
    service: Service, browser: Browser
) -> None:
    ada, root = await stored_user(service), await stored_user(service, ROOT)
    await happen(
        service,
        *(event(number, user_id=ada.id, actor_id=ada.id) for number in range(300)),
        *(event(number, user_id=root.id, actor_id=ada.id) for number in range(300, 310)),
    )

    page = await browser.open(f"/console/users/{ada.id}")

    assert shown(page) == [f"e{number:03}" for number in range(309, 259, -1)]
    assert page.links["All events about this user"] == f"{AUDIT}?subject={ada.id}"
    assert page.links["All events by this user"] == f"{AUDIT}?actor={ada.id}"
