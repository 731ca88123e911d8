"""The operations of openapi/paths/audit.yaml."""

from datetime import timedelta
from typing import Any

import pytest

from models import Audit
from tests import rows
from tests.handlers import steps
from tests.handlers.people import Person, add_person
from tests.service import PASSWORD, START, Service
from tests.trail import forget

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator of the service."""
    return await add_person(service, "admin")


@pytest.fixture
async def user(service: Service) -> Person:
    """A user without any power."""
    return await add_person(service)


async def page(service: Service, by: Person, **query: Any) -> dict[str, Any]:
    answer = await service.get("/admin/list-audit-events", headers=by.headers, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def found(service: Service, by: Person, **query: Any) -> list[str]:
    """Return the ids of the events that match."""
    return [event["id"] for event in (await page(service, by, **query))["events"]]


def event(name: str, age: int, **more: Any) -> Audit:
    """Return a record that is some minutes old; its id is its name and age."""
    values = {"outcome": "success", "event": name, "id": f"{name}-{age}", **more}
    return Audit(time=START - timedelta(minutes=age), details={}, **values)


@pytest.mark.operation("audit.list_events", "audit.get_event")
async def test_an_event_is_listed_and_shown_with_all_its_details(
    service: Service, admin: Person, user: Person
) -> None:
    await service.post("/admin/ban-user", {"userId": user.id, "banReason": "=1+1 <b>"}, headers=admin.headers)

    [listed] = (await page(service, admin, event="user.banned"))["events"]
    shown = await service.get("/admin/get-audit-event", headers=admin.headers, params={"id": listed["id"]})

    assert shown.json() == listed
    assert (listed["userId"], listed["actorId"], listed["outcome"]) == (user.id, admin.id, "success")
    assert listed["details"] == {"reason": "=1+1 <b>", "until": None}
    assert listed["time"] == "2026-01-01T12:00:00.000Z"
    unknown = await service.get("/admin/get-audit-event", headers=admin.headers, params={"id": "x"})
    assert steps.code(unknown) == "404 AUDIT_EVENT_NOT_FOUND"


async def test_every_filter_finds_its_events_and_all_of_them_must_match(
    service: Service, admin: Person, user: Person
) -> None:
    await forget(service)
    await rows.add(
        service.services.database,
        event("user.banned", 1, user_id=user.id, actor_id=admin.id, address="203.0.113.7"),
        event("user.unbanned", 2, user_id=user.id, actor_id=admin.id, address="203.0.113.77"),
        event("sign_in.failed", 3, user_id=user.id, outcome="failure", code="X", address="2001:db8::1"),
        event("sign_in.succeeded", 4, user_id=user.id, actor_id=user.id, address="203.0.114.7"),
        event("sign_in.banned", 5, user_id=user.id, outcome="refused", address="203.1.1.1"),
        event("service.started", 6),
    )
    everything = await found(service, admin)

    assert everything == [
        *("user.banned-1", "user.unbanned-2", "sign_in.failed-3", "sign_in.succeeded-4", "sign_in.banned-5"),
        "service.started-6",
    ]
    for query, numbers in [
        ({"event": "user.banned"}, [1]),
        ({"event": "user"}, []),
        ({"group": "sign_in"}, [3, 4, 5]),
        ({"group": "sign_in", "event": "sign_in.failed"}, [3]),
        ({"group": "sign_in", "event": "user.banned"}, []),
        ({"group": "nothing"}, []),
        ({"subject": user.id}, [1, 2, 3, 4, 5]),
        ({"subject": user.email.upper()}, [1, 2, 3, 4, 5]),
        ({"subject": "nobody"}, []),
        ({"actor": admin.id}, [1, 2]),
        ({"actor": user.email}, [4]),
        ({"subject": user.id, "actor": user.id}, [4]),
        ({"subject": user.id, "group": "user"}, [1, 2]),
        ({"actor": admin.email, "event": "user.unbanned"}, [2]),
        ({"network": "203.0.113.7"}, [1]),
        ({"network": "203.0.113.0/24"}, [1, 2]),
        ({"network": "203.0.0.0/16"}, [1, 2, 4]),
        ({"network": "203.0.0.0/16", "group": "sign_in"}, [4]),
        ({"network": "2001:DB8:0::1"}, [3]),
        ({"outcome": "failure"}, [3]),
        ({"outcome": "refused", "group": "sign_in"}, [5]),
        ({"outcome": "success"}, [1, 2, 4, 6]),
        ({"from": "2026-01-01T11:57:00Z"}, [1, 2, 3]),
        ({"to": "2026-01-01T13:57:00+02:00"}, [4, 5, 6]),
        ({"from": "2026-01-01T11:56:00Z", "to": "2026-01-01T11:57:00Z"}, [4]),
    ]:
        expected = [name for name in everything if int(name.rpartition("-")[2]) in numbers]
        assert await found(service, admin, **query) == expected, query


async def test_what_was_typed_before_the_user_existed_is_found_by_it(service: Service, admin: Person) -> None:
    body = {"email": "nobody@example.com", "password": PASSWORD}
    await service.post("/sign-in/email", body)

    [failed] = (await page(service, admin, subject="Nobody@example.com"))["events"]

    assert (failed["event"], failed["userId"], failed["code"]) == (
        "sign_in.failed",
        None,
        "INVALID_EMAIL_OR_PASSWORD",
    )
    await add_person(service, email="nobody@example.com")
    later = (await page(service, admin, subject="nobody@example.com"))["events"]
    assert failed in later
    assert {"user.created", "sign_in.failed"} <= {each["event"] for each in later}


@pytest.mark.parametrize(
    "query", [{}, {"group": "sign_in"}, {"actor": "ada"}, {"subject": "ada"}, {"event": "sign_out"}]
)
async def test_pages_follow_each_other_without_gaps_however_many_events_have_one_time(
    service: Service, admin: Person, query: dict[str, str]
) -> None:
    await forget(service)
    names = ("sign_in.failed", "sign_in.succeeded", "sign_out")
    about = {"actor": {"actor_id": "ada"}, "subject": {"user_id": "ada"}}
    same_time = [
        Audit(
            id=f"{number:03}",
            time=START - timedelta(seconds=number // 4),
            event=names[number % 3],
            outcome="success",
            details={},
            **about.get(next(iter(query), ""), {}),
        )
        for number in range(60)
    ]
    await rows.add(service.services.database, *same_time)
    whole = await found(service, admin, **query)
    number = {"group": 40, "event": 20}.get(next(iter(query), ""), 60)

    walked: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        more = {"cursor": cursor} if cursor else {}
        answer = await page(service, admin, limit=7, **query, **more)
        walked += [each["id"] for each in answer["events"]]
        cursor = answer["nextCursor"]

    assert walked == whole == sorted(whole, key=lambda id_: (int(id_) // 4, -int(id_)))
    assert len(whole) == number


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "501"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"outcome": "ok"}, "outcome"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-01-01T12:00:00"}, "from"),
        ({"to": "2026-13-01T12:00:00Z"}, "to"),
        ({"network": "203.0.113.0/25"}, "network"),
        ({"network": "203.0.113.1/24"}, "network"),
        ({"network": "%"}, "network"),
        ({"network": "2001:db8::/64"}, "network"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "1."}, "cursor"),
        ({"cursor": "٣.x"}, "cursor"),
        ({"cursor": f"{'9' * 15}.x"}, "cursor"),
        ({"cursor": "x" * 81}, "cursor"),
        ({"event": ""}, "event"),
        ({"event": ["a", "b"]}, "event"),
        ({"group": "x" * 65}, "group"),
        ({"subject": "x" * 255}, "subject"),
    ],
)
async def test_a_parameter_out_of_its_bounds_is_named(
    service: Service, admin: Person, query: dict[str, Any], field: str
) -> None:
    answer = await service.get("/admin/list-audit-events", headers=admin.headers, params=query)

    assert steps.code(answer) == "400 VALIDATION_ERROR"
    assert [each["name"] for each in answer.json()["fields"]] == [field]


@pytest.mark.parametrize("value", ["'; DROP TABLE audit; --", "%", "_", "\\", "عربى"])
async def test_a_value_is_compared_as_it_is(service: Service, admin: Person, value: str) -> None:
    for name in ("event", "group", "subject", "actor"):
        assert await found(service, admin, **{name: value}) == []


async def test_the_cursor_may_be_of_any_time(service: Service, admin: Person) -> None:
    assert await found(service, admin, cursor="0.x") == []
    assert await found(service, admin, cursor=f"{'9' * 14}.x") == await found(service, admin)
