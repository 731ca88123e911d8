"""The operations of openapi/paths/statistics.yaml."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from models import MailState, Outbox, Session
from models.daily_count import DailyCount
from server.components import cleanup
from tests import rows
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.people import Person, add_person
from tests.server.importers.moving import take_lines
from tests.service import PASSWORD, START, Service
from tests.trail import forget

pytestmark = pytest.mark.both_databases

TODAY = START.replace(hour=0)


@pytest.fixture
async def service(make_cold_service: MakeService) -> Service:
    """A service that has counted nothing yet."""
    return await make_cold_service()


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator of the service."""
    return await add_person(service, "admin")


async def figures(service: Service, by: Person) -> dict[str, Any]:
    """Return the figures as they are as soon as everything that happened is counted."""
    await service.services.audit_writer.flush()
    answer = await service.get("/admin/get-statistics", headers=by.headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.operation("statistics.get")
async def test_what_happened_is_counted(service: Service, admin: Person) -> None:
    for name in ("ada", "eve"):
        await add_person(service, email=f"{name}@example.com")
    for password in (PASSWORD, "wrong", "wrong"):
        await service.post("/sign-in/email", {"email": "ada@example.com", "password": password})
    # Refused: the address is taken. It is no sign-up.
    await service.post("/sign-up/email", {"name": "E", "email": "eve@example.com", "password": PASSWORD})
    old = rows.user("old", created_at=START - timedelta(days=40))
    recent = rows.user("recent", created_at=START - timedelta(days=2))
    over = rows.session(old, "x" * 32, expires_at=START)
    mails = [mail(MailState.QUEUED), mail(MailState.UNRESOLVED), mail(MailState.SENT), mail(MailState.FAILED)]
    await steps.execute(service, "DELETE FROM outbox")
    await rows.add(service.services.database, old, recent, over, *mails)
    sessions = await steps.count(service, Session)

    found = await figures(service, admin)

    days = found.pop("days")
    assert found == {
        "countedAt": "2026-01-01T12:00:00.000Z",
        "users": 5,
        "usersOfDay": 3,
        "usersOfMonth": 4,
        "activeSessions": sessions - 1,
        "signInsOfDay": 4,
        "failuresOfDay": 2,
        "mailsWaiting": 2,
        "mailsFailed": 1,
    }
    assert [day["day"] for day in days] == [
        (TODAY - timedelta(days=age)).date().isoformat() for age in range(29, -1, -1)
    ]
    assert days[-1] == {
        "day": "2026-01-01",
        "signUps": 3,
        "signIns": by_password(4),
        "failures": [{"code": "INVALID_EMAIL_OR_PASSWORD", "count": 2}],
    }
    assert all(day["signUps"] == 0 and day["signIns"] == day["failures"] == [] for day in days[:-1])


def by_password(number: int) -> list[dict[str, Any]]:
    """Return the sign-ins of a day, all by password."""
    return [{"method": "password", "count": number}]


def mail(state: MailState) -> Outbox:
    """Return an email in a state."""
    return Outbox(
        id=state.value,
        state=state,
        template="t",
        sender="smtp",
        next_attempt=START,
        expires_at=START,
        created_at=START,
        updated_at=START,
    )


async def test_charts_do_not_end_with_the_audit_records(service: Service, admin: Person) -> None:
    await service.post("/sign-in/email", {"email": admin.email, "password": PASSWORD})
    await forget(service)
    service.clock.advance(days=3)

    found = await figures(service, await back(service))

    assert (found["signInsOfDay"], found["usersOfDay"]) == (1, 0)
    by_day = {day["day"]: day for day in found["days"]}
    assert (by_day["2026-01-01"]["signIns"], by_day["2026-01-01"]["signUps"]) == (by_password(2), 1)
    assert by_day["2026-01-04"]["signIns"] == by_password(1)


async def test_imported_users_are_not_among_the_sign_ups(
    service: Service, admin: Person, tmp_path: Path
) -> None:
    """An import of all users of another service would hide the sign-ups of a month."""
    await take_lines(service, tmp_path / "users.jsonl", [{"email": "old@example.com"}])

    found = await figures(service, admin)

    assert (found["users"], found["days"][-1]["signUps"]) == (2, 1)


async def back(service: Service) -> Person:
    """Return the administrator with a new session."""
    answer = await service.post("/sign-in/email", {"email": "admin@example.com", "password": PASSWORD})
    service.client.cookies.clear()
    return Person(answer.json()["user"]["id"], "admin@example.com", answer.json()["token"])


async def test_figures_are_counted_once_a_minute(service: Service, admin: Person) -> None:
    assert (await figures(service, admin))["users"] == 1
    other = await add_person(service, "admin", "other@example.com")

    service.clock.advance(seconds=59)
    assert (await figures(service, other))["users"] == 1
    service.clock.advance(seconds=1)
    assert (await figures(service, other))["users"] == 2


async def test_a_figure_that_takes_too_long_is_left_out(service: Service, admin: Person) -> None:
    if service.services.database.dialect == "sqlite":
        pytest.skip("nothing makes a read of SQLite wait")
    async with service.services.database.transaction() as db:
        await db.execute(text("LOCK TABLE outbox, daily_count IN ACCESS EXCLUSIVE MODE"))
        answer = await service.get("/admin/get-statistics", headers=admin.headers)

    found = answer.json()
    assert (found["users"], found["mailsWaiting"], found["mailsFailed"], found["days"]) == (
        1,
        None,
        None,
        None,
    )


async def test_counts_are_kept_for_two_years(service: Service) -> None:
    counts = [
        DailyCount(day=TODAY - timedelta(days=age), event="sign_out", way_in="", code=code, count=1)
        for age in (0, 730, 732, 800)
        for code in ("", "X")
    ]
    await rows.add(service.services.database, *counts)

    removed = await cleanup.delete_expired(service.services.database, START)

    assert removed["daily_count"] == 4
    assert await steps.count(service, DailyCount) == 4
