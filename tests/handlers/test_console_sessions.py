"""The sessions of a user in the console."""

import re
from datetime import timedelta
from typing import Any

import pytest

from models import Session
from tests import rows
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, recorded, send, signed_in, stored_user
from tests.handlers.steps import ADA, UNKNOWN, execute
from tests.handlers.test_console_user import ROOT, add, administrator
from tests.service import START, Service


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(
        {**SETTINGS, "admin.roles": '{"support": {"user": ["get"], "session": ["list"]}}'}
    )


@pytest.fixture
async def user(service: Service) -> str:
    """The path of the page of a user who has one session."""
    return await add(service, ADA)


@pytest.fixture
async def root(service: Service, user: str) -> Browser:
    return await administrator(service)


async def open_sessions(service: Service, number: int, **columns: Any) -> None:
    """Add sessions of the user, each a minute newer than the last."""
    ada = await stored_user(service)
    sessions = [
        Session(
            id=f"s{count:05}", user_id=ada.id, token_digest=f"{count}".encode(), method="password",
            created_at=START + timedelta(minutes=count), updated_at=START, expires_at=START + timedelta(days=7),
            **columns,
        )
        for count in range(number)
    ]  # fmt: skip
    await rows.add(service.services.database, *sessions)


def shown(page: Page) -> list[str]:
    """Return the ids of the sessions that can be ended."""
    found = (re.search(r"/end-session\?session=(\w+)$", one) for one in page.targets)
    return sorted((one[1] for one in found if one), reverse=True)


class TestSection:
    async def test_it_shows_where_the_user_is_signed_in(
        self, root: Browser, service: Service, user: str
    ) -> None:
        boss = await stored_user(service, ROOT)
        firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0"
        await open_sessions(service, 1, user_agent=firefox, ip_address="203.0.113.7", impersonated_by=boss.id)

        page = await root.open(user)

        assert "Firefox 145 on Windows" in page.text
        assert "203.0.113.7" in page.text
        assert f"/console/users/{boss.id}" in page.targets
        assert await recorded(service, "admin.sessions_listed") == 1

    @pytest.mark.threat("C11")
    @pytest.mark.operation("console.user_sessions.show_list")
    async def test_of_a_thousand_sessions_the_newest_are_shown(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await open_sessions(service, 1000)

        page = await root.open(user)
        assert shown(page) == [f"s{number:05}" for number in range(999, 979, -1)]
        page = await root.open(f"{user}/sessions")

        assert f"{user}/sessions" in (await root.open(user)).targets
        assert shown(page) == [f"s{number:05}" for number in range(999, 799, -1)]
        assert "The newest 200 are shown." in page.text

    async def test_an_expired_session_is_not_shown(self, root: Browser, service: Service, user: str) -> None:
        await execute(service, "UPDATE session SET expires_at = created_at WHERE user_id = :id",
                      id=user.rpartition("/")[2])  # fmt: skip

        assert "The user is not signed in anywhere." in (await root.open(user)).text

    @pytest.mark.threat("C4")
    async def test_what_a_browser_sends_is_text(self, root: Browser, service: Service, user: str) -> None:
        script = "<script>alert(1)</script>"
        await open_sessions(service, 1, user_agent=script, ip_address=script)

        for path in (user, f"{user}/sessions", f"{user}/end-session?session=s00000"):
            answer = await service.get(path)
            assert (path, answer.status_code, script in answer.text) == (path, 200, False)

    async def test_it_offers_what_the_caller_may_do(self, service: Service, user: str) -> None:
        browser = await administrator(service, "support")

        page = await browser.open(user)

        assert ("Sessions" in page.text, shown(page)) == (True, [])
        for act in (f"end-session?session={UNKNOWN}", "end-sessions"):
            assert (await browser.open(f"{user}/{act}")).status == 403

    @pytest.mark.threat("C3")
    async def test_sessions_of_a_user_of_higher_rank_are_not_shown_or_ended(
        self, service: Service, user: str
    ) -> None:
        other = await add(service, "boss@example.com", role="admin")
        boss = await stored_user(service, "boss@example.com")
        [(session,)] = await service.rows("SELECT id FROM session WHERE user_id = :id", id=boss.id)
        browser = await administrator(service, "support")

        page = await browser.open(other)

        assert "You cannot see this of a user who has powers that you do not have." in page.text
        assert (await browser.open(f"{other}/sessions")).status == 403
        for act in ("end-session", "end-sessions"):
            answer = await send(service, f"{other}/{act}", account=ROOT, session=session)
            assert answer.status_code in (403, 422)
        assert await service.rows("SELECT id FROM session WHERE id = :id", id=session)


class TestEnding:
    @pytest.mark.operation("console.user_sessions.show_end", "console.user_sessions.end")
    @pytest.mark.threat("C8")
    async def test_one_session_ends_and_the_second_form_changes_nothing(
        self, root: Browser, service: Service, user: str
    ) -> None:
        await open_sessions(service, 2)
        page = await root.open(f"{user}/end-session?session=s00001")
        assert page.title == "End the session · Gatewright"
        seen = root.page

        for _ in range(2):
            root.page = seen
            page = await root.submit(f"{user}/end-session")
            assert (page.path, "The session is ended." in page.text) == (user, True)

        left = await service.rows("SELECT id FROM session WHERE id LIKE 's000%'")
        assert [row.id for row in left] == ["s00000"]
        assert await recorded(service, "session.revoked") == 1
        assert (
            "That session was ended already." in (await root.open(f"{user}/end-session?session=s00001")).text
        )

    @pytest.mark.operation("console.user_sessions.show_end_all", "console.user_sessions.end_all")
    async def test_all_sessions_end(self, root: Browser, service: Service, user: str) -> None:
        await root.open(f"{user}/end-sessions")

        page = await root.submit(f"{user}/end-sessions")

        assert (page.path, "The user is signed out everywhere." in page.text) == (user, True)
        assert not await service.rows(
            "SELECT id FROM session WHERE user_id = :id", id=user.rpartition("/")[2]
        )
        assert await signed_in(service) == ROOT

    @pytest.mark.threat("C3")
    @pytest.mark.parametrize("act", ["end-session", "end-sessions"])
    async def test_an_administrator_who_ends_the_own_session_is_signed_out(
        self, root: Browser, service: Service, act: str
    ) -> None:
        boss = await stored_user(service, ROOT)
        own = f"/console/users/{boss.id}"
        [(session,)] = await service.rows("SELECT id FROM session WHERE user_id = :id", id=boss.id)
        await root.open(f"{own}/{act}?session={session}")

        page = await root.submit(f"{own}/{act}")

        assert page.path == "/account/signed-out"
        assert await signed_in(service) is None
