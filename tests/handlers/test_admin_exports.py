"""Exports of users and of audit events as CSV: the operations admin.export_users and audit.export_events."""

import csv
import io
from typing import Any

import pytest

from models import Audit, User
from models.lease import Lease
from tests import rows
from tests.handlers import steps
from tests.handlers.people import Person, add_person
from tests.service import START, Service
from tests.trail import forget, only

pytestmark = pytest.mark.both_databases

SHOWN = ["id", "time", "event", "outcome", "code", "userId", "actorId", "sessionId", "method", "ipAddress",
         "userAgent", "requestId", "details"]  # fmt: skip


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator."""
    return await add_person(service, "admin")


async def exported(service: Service, by: Person, name: str, **query: Any) -> list[dict[str, str]]:
    """Return the lines of an export, by the names in its header."""
    answer = await service.get(f"/admin/export-{name}", headers=by.headers, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}-2026-01-01T120000Z.csv"'
    assert answer.content.startswith(b"\xef\xbb\xbf")
    text = answer.content.decode("utf-8-sig")
    assert text.endswith("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.operation("admin.export_users")
@pytest.mark.threat("ADM25")
async def test_users_are_exported_as_they_are_listed_but_for_formulas(
    service: Service, admin: Person
) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'two "quotes", and\r\nlines', "a=1", "أَدا", ""]
    people = [rows.user(f"u{number}", email=f"u{number}@x.example") for number in range(len(names))]
    for person, name in zip(people, names, strict=True):
        person.name = name
    await rows.add(service.services.database, *people)
    listed = (await service.get("/admin/list-users", headers=admin.headers)).json()["users"]

    found = await exported(service, admin, "users")

    assert [line["name"] for line in found] == [
        f"'{user['name']}" if user["name"][:1] in set("=+-@\t\r") - {""} else user["name"] for user in listed
    ]
    assert {line["name"] for line in found} >= {"'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", names[5], "a=1"}
    for line, user in zip(found, listed, strict=True):
        plain = {name: "" if value is None else str(value) for name, value in user.items() if name != "name"}
        flags = {name: str(value).lower() for name, value in user.items() if isinstance(value, bool)}
        assert line == {**plain, **flags, "name": line["name"]}


async def test_users_are_filtered_and_a_long_list_is_whole(service: Service, admin: Person) -> None:
    many = [{"name": f"n{number % 7}", "email": f"u{number}@x.example"} for number in range(1203)]
    async with service.services.database.transaction() as db:
        values = [{**rows.user(each["name"]).model_dump(), **each} for each in many]
        await rows.insert_many(db, User, values)

    everybody = await exported(service, admin, "users")
    some = await exported(service, admin, "users", search="u12", match="starts_with")

    assert {line["email"] for line in everybody} == {admin.email, *(each["email"] for each in many)}
    assert len(everybody) == 1204
    order = [(line["createdAt"], line["id"]) for line in everybody]
    assert order == sorted(order, reverse=True)
    assert {line["email"] for line in some} == {
        each["email"] for each in many if each["email"].startswith("u12")
    }
    nobody = await exported(service, admin, "users", role="nobody")
    assert nobody == []


@pytest.mark.operation("audit.export_events")
async def test_events_are_exported_as_they_are_listed(service: Service, admin: Person) -> None:
    await forget(service)
    many = [
        Audit(
            id=f"{number:05}",
            time=START,
            event=("sign_out", "sign_in.failed")[number % 2],
            outcome=("success", "failure")[number % 2],
            user_agent="=cmd|' /C calc'!A0" if number == 1200 else None,
            details={"n": number},
        )
        for number in range(1201)
    ]
    await rows.add(service.services.database, *many)

    found = await exported(service, admin, "audit-events")
    failed = await exported(service, admin, "audit-events", group="sign_in", outcome="failure")

    assert list(found[0]) == SHOWN
    assert [line["id"] for line in found] == [f"{number:05}" for number in range(1200, -1, -1)]
    assert (found[0]["details"], found[0]["userAgent"]) == ('{"n":1200}', "'=cmd|' /C calc'!A0")
    assert len([line for line in failed if line["event"] == "sign_in.failed"]) == 600 == len(failed)


@pytest.mark.threat("ADM26")
async def test_an_export_is_recorded_without_email_addresses(service: Service, admin: Person) -> None:
    query = {"subject": "Ada@Example.com", "from": "2026-01-01T00:00:00Z", "event": "sign_out"}
    await exported(service, admin, "audit-events", **query)

    record = await only(service, "admin.exported")

    assert (record.actor_id, record.user_id, record.outcome) == (admin.id, admin.id, "success")
    masked = {**query, "subject": "A***@Example.com"}
    assert record.details == {"export": "audit events", "filters": masked, "rows": 0, "complete": True}

    await forget(service)
    filters = {"search": "Ada@x.example", "banned": "true", "createdFrom": "2026-01-01T01:00:00+01:00"}
    await exported(service, admin, "users", **filters)
    assert (await only(service, "admin.exported")).details["filters"] == {
        "search": "A***@x.example",
        "banned": "true",
        "createdFrom": "2026-01-01T00:00:00Z",
    }
    assert await steps.count(service, Lease) == 0


@pytest.mark.threat("ADM26")
async def test_an_administrator_has_one_export_at_a_time(service: Service, admin: Person) -> None:
    other = await add_person(service, "admin", "other@example.com")
    until = START.replace(minute=1)
    await rows.add(
        service.services.database, Lease(name=f"export {admin.id}", holder="another process", until=until)
    )

    for name in ("users", "audit-events"):
        refused = await service.get(f"/admin/export-{name}", headers=admin.headers)
        assert steps.code(refused) == "409 EXPORT_IN_PROGRESS"
        assert len(await exported(service, other, name)) >= 2

    service.clock.advance(minutes=1)
    answer = await service.get("/admin/export-users", headers=admin.headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("name", "query", "field"),
    [
        ("users", {"match": "x"}, "match"),
        ("users", {"banned": "1"}, "banned"),
        ("users", {"createdFrom": "yesterday"}, "createdFrom"),
        ("users", {"search": "x" * 255}, "search"),
        ("audit-events", {"from": "yesterday"}, "from"),
        ("audit-events", {"network": "x"}, "network"),
        ("audit-events", {"outcome": "x"}, "outcome"),
    ],
)
async def test_a_malformed_filter_is_named_and_nothing_is_exported(
    service: Service, admin: Person, name: str, query: dict[str, str], field: str
) -> None:
    answer = await service.get(f"/admin/export-{name}", headers=admin.headers, params=query)

    assert steps.code(answer) == "400 VALIDATION_ERROR"
    assert [each["name"] for each in answer.json()["fields"]] == [field]
    assert await steps.count(service, Lease) == 0


@pytest.mark.threat("ADM24")
async def test_exports_need_the_permission(service: Service, admin: Person) -> None:
    user = await add_person(service)

    for name, refusal in [
        ("users", "403 YOU_ARE_NOT_ALLOWED_TO_LIST_USERS"),
        ("audit-events", "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"),
    ]:
        assert steps.code(await service.get(f"/admin/export-{name}", headers=user.headers)) == refusal
        assert steps.code(await service.get(f"/admin/export-{name}")) == "401 UNAUTHORIZED"
