"""The overview of the console: figures, charts, important events."""

import os
import re
import socket
from collections.abc import Mapping
from datetime import timedelta

import pytest
from sqlalchemy import text

from domain.audit.record import EVENTS
from domain.doctor.doctor import Finding, LastReport, Report
from models import Audit
from models.daily_count import DailyCount
from server.config.groups.pages import PagesSettings, contrast
from tests import rows
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, stored_user
from tests.handlers.steps import ADA, execute, join, set_user
from tests.service import START, Service
from tests.trail import forget

pytestmark = [pytest.mark.operation("console.overview.show"), pytest.mark.both_databases]

ROOT = "root@example.com"
TODAY = START.replace(hour=0)
BACKGROUNDS = {"light": "#ffffff", "dark": "#16181d"}
"""The background of a card."""


@pytest.fixture
async def service(make_cold_service: MakeService) -> Service:
    """A service that has counted nothing yet."""
    return await make_cold_service({**SETTINGS, "limits.enabled": "false"})


async def administrator(service: Service, role: str = "admin") -> Browser:
    await join(service, ROOT)
    await set_user(service, ROOT, role=role)
    return Browser(service)


_UNREAD = re.compile(r"could not be read in time|(?:Users|hours|days|sessions) \W none")


async def overview(service: Service, browser: Browser, query: str = "") -> Page:
    """Open the overview as it is as soon as everything that happened is counted.

    A busy machine may not find the figures or the events in time; then the page says so, and is opened again.
    """
    await service.services.audit_writer.flush()
    for _ in range(20):
        page = await browser.open(f"/console{query}")
        if not _UNREAD.search(page.text):
            break
    return page


async def count(service: Service, event: str, numbers: Mapping[str, int], *, by_code: bool = False) -> None:
    """Store how often something happened yesterday, by way in or by code."""
    await rows.add(
        service.services.database,
        *(
            DailyCount(
                day=TODAY - timedelta(days=1),
                event=event,
                way_in="" if by_code else name,
                code=name if by_code else "",
                count=number,
            )
            for name, number in numbers.items()
        ),
    )


async def test_a_new_service_has_figures_and_says_where_charts_will_be(service: Service) -> None:
    browser = await administrator(service)
    await forget(service)
    await execute(service, "DELETE FROM daily_count")

    page = await overview(service, browser)

    assert "Users 1 New in 24 hours 1 New in 30 days 1 Active sessions 1" in page.text
    assert page.text.count("None in the last 30 days.") == 3
    assert "Nothing yet. Bans, changed roles" in page.text
    assert re.search(r"Version Gatewright \d+\.\d+", page.text)
    assert f"Instance {socket.gethostname()} · process {os.getpid()} Running since now" in page.text


async def test_charts_name_ways_in_and_reasons_in_words(service: Service) -> None:
    browser = await administrator(service)
    await count(service, "sign_in.succeeded", {"oauth:google": 40, "id_token:google": 2, "passkey": 7})
    await count(service, "sign_in.failed", {"INVALID_EMAIL_OR_PASSWORD": 5, "BANNED_USER": 3}, by_code=True)

    page = await overview(service, browser)

    assert "Google 42 Passkey 7" in page.text
    assert "Wrong email address or password 5 User is banned 3" in page.text
    # The table behind the chart, and the text of the bar.
    assert "31 December 2025 42 7 0 49" in page.text
    assert "31 December 2025: Google 42, Passkey 7" in page.text


async def test_rare_ways_in_are_added_up(service: Service) -> None:
    browser = await administrator(service)
    await count(service, "sign_in.succeeded", {f"oauth:p{number}": number + 10 for number in range(9)})

    page = await overview(service, browser)

    # The five largest, and 10 + 11 + 12 + 13 and the one sign-up of the administrator.
    assert "P8 18 P7 17 P6 16 P5 15 P4 14 Other 47" in page.text


async def test_the_latest_important_events_are_listed(service: Service) -> None:
    browser = await administrator(service)
    root = await stored_user(service, ROOT)
    await join(service, ADA)
    target = (await stored_user(service, ADA)).id
    await service.post("/sign-in/email", {"email": ROOT, "password": "correct horse battery"})
    answer = await service.post("/admin/ban-user", {"userId": target, "banReason": "spam"})
    assert answer.status_code == 200, answer.text

    page = await overview(service, browser)

    assert f"The account was blocked now {ADA} · by {ROOT}" in page.text
    assert page.links[ROOT] == f"/console/users/{root.id}"
    assert "Signed in" not in page.text


@pytest.mark.parametrize(
    ("by", "shown"),
    [
        ("operator", "by the operator, on the command line"),
        ("directory", "by a directory"),
        ("connection", "through single sign-on"),
    ],
)
async def test_events_that_no_user_caused_say_who_acted(service: Service, by: str, shown: str) -> None:
    browser = await administrator(service)
    await forget(service)
    record = Audit(
        id="e1", time=service.clock.now, event="user.banned", outcome="success", details={"by": by}
    )
    await rows.add(service.services.database, record)

    page = await overview(service, browser)

    assert f"The account was blocked now {shown}" in page.text


async def test_without_permission_there_are_no_figures(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, "admin.roles": '{"support": {"user": ["list"]}}'})

    page = await (await administrator(service, "support")).open("/console")

    assert page.status == 200
    assert "Your role does not include the figures of the service." in page.text
    for absent in ("Active sessions", "Sign-ups", "Important events", "Version"):
        assert absent not in page.text


@pytest.mark.threat("C12")
async def test_a_figure_that_takes_too_long_is_left_out(service: Service) -> None:
    if service.services.database.dialect == "sqlite":
        pytest.skip("nothing makes a read of SQLite wait")
    browser = await administrator(service)
    async with service.services.database.transaction() as db:
        await db.execute(text("LOCK TABLE outbox, daily_count IN ACCESS EXCLUSIVE MODE"))
        # On a busy machine others may take too long as well.
        for _ in range(20):
            page = await browser.open("/console")
            if "Users 1" in page.text:
                break

    assert "Users 1" in page.text
    assert "Emails waiting \N{EN DASH} none" in page.text
    assert "The numbers could not be read in time." in page.text


async def test_it_is_written_from_right_to_left_in_arabic(service: Service) -> None:
    page = await overview(service, await administrator(service), "?ui_locales=ar")

    assert (page.language, page.direction) == ("ar", "rtl")
    assert "الجلسات النشطة" in page.text


async def test_a_page_that_is_in_no_section_marks_none(service: Service) -> None:
    await administrator(service)

    for path, marked in (("/console", 1), ("/console/search", 0), ("/console/users", 1)):
        assert (await service.get(path)).text.count('aria-current="page"') == marked


def test_every_event_of_weight_says_what_happened() -> None:
    important = {name for name, event in EVENTS.items() if event.important}

    assert {"user.banned", "user.role_changed", "two_factor.locked", "impersonation.started"} <= important
    # Nobody can flood the list without an account.
    assert not any(EVENTS[name].unbounded for name in important)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_colours_of_charts_are_seen(service: Service, scheme: str) -> None:
    await administrator(service)
    page = (await service.get("/console")).text
    [path] = re.findall(r"/account/static/console\.[0-9a-f]+\.css", page)
    style = (await service.get(path)).text
    light, dark = re.findall(r":root \{[^}]*--s1:[^}]*\}", style)
    colours = re.findall(r"--s\d: (#[0-9a-f]{6})", light if scheme == "light" else dark)
    accents = {"light": "accent", "dark": "accent_dark"}
    accent = PagesSettings.model_fields[accents[scheme]].default

    assert len(colours) == 5
    for colour in (accent, *colours):
        assert contrast(colour, BACKGROUNDS[scheme]) >= 3


async def test_it_shows_what_the_last_checks_found(service: Service) -> None:
    browser = await administrator(service)
    page = await overview(service, browser)
    assert "The checks have not run since the service was started." in page.text
    assert page.links["Run the checks"] == "/console/doctor"

    found = (Finding("clock", "ok", "within 1 s", ""), Finding("mail", "wrong", "refused", "start <host>"))
    service.services.port[LastReport].report = Report(service.clock(), found)

    page = await overview(service, browser)
    assert "mail Wrong refused What to do: start <host>" in page.text
    assert "within 1 s" not in page.text


async def test_figures_lead_to_the_lists_behind_them(service: Service) -> None:
    page = await overview(service, await administrator(service))

    assert page.links["Emails waiting"] == "/console/mail?state=waiting"
    for link in ("Users", "Emails waiting", "Failed", "Show all"):
        assert (await service.get(page.links[link])).status_code == 200
