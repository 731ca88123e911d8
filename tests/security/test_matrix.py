"""Every way in is tried after every event, for each kind of user, and nothing is missing from the matrix.

What the cells say is read from the specifications; `make table` writes them into SECURITY-TESTS.md.
"""

import json
import pkgutil
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import httpx
import pytest
from sqlalchemy import Column, LargeBinary
from sqlmodel import SQLModel

import domain
from domain.audit.record import EVENTS
from models import Purpose
from models.base import tables
from models.statements import table_of
from tests.conftest import MakeService
from tests.contract.reading import JSON_OPERATIONS, responses
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.security.matrix import matrix, snapshot
from tests.security.matrix.cells import KINDS, UNPROVEN, VERIFIED, Event, Users, Verdict, Way, ends, stays
from tests.security.matrix.matrix import Matrix
from tests.security.matrix.snapshot import Snapshot
from tests.security.matrix.subject import Subject, prepare
from tests.service import Service
from tests.trail import trail

USER_ACTIONS = (
    "create", "list", "get", "update", "set-role", "ban", "impersonate", "impersonate-admins", "delete",
    "set-password", "set-email", "set-phone", "reset-two-factor",
)  # fmt: skip
ROLES = {
    "root": {
        "user": USER_ACTIONS,
        "session": ["list", "revoke", "delete"],
        "apiKey": ["manage"],
        "service": ["manage"],
    },
    "support": {"user": ["impersonate"]},
}
SETTINGS = {
    "admin.roles": json.dumps(ROLES),
    "api_keys.sessions": "true",
    "delete_user.confirm_by_mail": "true",
    "limits.enabled": "false",
}
MATRIX = matrix.read()

Prepared = tuple[Subject, Snapshot]
Prepare = Callable[[Users], Awaitable[Prepared]]


@pytest.fixture(scope="module")
def prepared() -> dict[tuple[str, Users], Prepared]:
    """Return the users that hold every way in, by database and kind: preparing one takes longer than an event."""
    return {}


@pytest.fixture
async def subject(
    make_service: MakeService,
    provider: ProviderProcess,
    prepared: dict[tuple[str, Users], Prepared],
    users: Users,
    dialect: str,
) -> Subject:
    """The user, holding every way in."""
    service = await make_service({**SETTINGS, **social_settings(provider)})
    if (dialect, users) not in prepared:
        made = await prepare(service, provider, users)
        for way in MATRIX.ways:
            if users in way.users:
                await made.open(way)
        prepared[dialect, users] = made, await snapshot.take(service)
    made, rows = prepared[dialect, users]
    await snapshot.restore(service, rows)
    return made.copy()


async def tried(subject: Subject, ways: list[Way]) -> dict[str, Verdict]:
    """Return what became of each way in; those that change something are tried one by one on the same rows."""
    found: dict[str, Verdict] = {}
    rows = await snapshot.take(subject.service)
    for way in sorted(ways, key=lambda way: not way.is_read_only):
        if not way.is_read_only:
            await snapshot.restore(subject.service, rows)
        lets_in = await way.let_in(subject.copy(), subject.held[way.name])
        found[way.name] = Verdict.STAYS if lets_in else Verdict.ENDS
    await subject.service.services.audit_writer.flush()
    return found


async def nothing(subject: Subject) -> None:
    """Do nothing."""


async def lets_nobody_in(subject: Subject, held: None) -> bool:
    """Return that a way in is closed."""
    return False


async def audited(service: Service) -> set[str]:
    """Return the events of the audit trail."""
    return {record.event for record in await trail(service)}


def is_secret(column: Column[Any]) -> bool:
    """Return whether a column may hold what somebody shows to be let in."""
    return isinstance(column.type, LargeBinary) or any(
        word in column.name for word in ("password", "secret", "digest", "code", "key", "token")
    )


def secret_tables() -> set[type[SQLModel]]:
    """Return every table of users with a column that may hold a secret."""
    found = {model: table_of(model).columns for model in tables()}
    return {
        model
        for model, columns in found.items()
        if any(key.column.table.name == "user" for column in columns for key in column.foreign_keys)
        and any(is_secret(column) for column in columns)
    }


def opening() -> dict[str, tuple[str, str]]:
    """Return method and path of every operation that answers with a new session, by its operationId."""
    return {
        name: (operation.method.upper(), operation.path)
        for name, operation in JSON_OPERATIONS.items()
        if any("set-auth-token" in answer.get("headers", {}) for answer in responses(operation).values())
    }


def audit_events() -> set[str]:
    """Return every event that the audit trail knows."""
    for module in pkgutil.walk_packages(domain.__path__, "domain."):
        import_module(module.name)
    return set(EVENTS)


class TestMatrix:
    def test_has_one_verdict_for_every_cell(self) -> None:
        assert MATRIX.complaints() == []

    def test_has_every_table_that_may_let_somebody_in(self) -> None:
        covered = {way.table for way in MATRIX.ways} | matrix.other_tables().keys()
        declared = {model for model in tables() if hasattr(model, "__access__")}

        assert (secret_tables() | declared) - covered == set()

    def test_has_every_purpose_of_a_token(self) -> None:
        covered = {way.purpose for way in MATRIX.ways} | matrix.other_purposes().keys()

        assert set(Purpose) - covered == set()

    def test_has_every_event_of_the_audit_trail(self) -> None:
        columns = {name for event in MATRIX.events for name in event.audit}
        others = matrix.other_audit_events().keys()

        assert audit_events() == columns | others
        assert columns & others == set()

    @pytest.mark.parametrize("users", KINDS, ids=str)
    async def test_has_the_rows_that_it_says(self, subject: Subject, users: Users) -> None:
        for way in MATRIX.ways:
            if way.table is not None and users in way.users:
                rows = await subject.service.rows(f'SELECT * FROM "{way.table.__tablename__}"')
                assert [row for row in rows if way.purpose in (None, getattr(row, "purpose", None))], way.name

    @pytest.mark.parametrize("users", [Users(verified=True, two_factor=True)], ids=str)
    async def test_tries_every_operation_that_opens_a_session(self, subject: Subject, users: Users) -> None:
        called: set[tuple[str, str]] = set()

        async def note(request: httpx.Request) -> None:
            called.add((request.method, request.url.path))

        subject.service.client.event_hooks = {"request": [note]}
        await tried(subject, [way for way in MATRIX.ways if users in way.users])
        subject.service.client.event_hooks = {}

        untried = {name for name, operation in opening().items() if operation not in called}
        assert untried == matrix.other_operations().keys()


class TestComplaints:
    def test_name_what_is_missing_or_said_twice(self) -> None:
        way = Way("a door", nothing, lets_nobody_in, None, cells=(stays("a reason", "a fire", "a flood"),))
        window = Way("a window", nothing, lets_nobody_in, None, users=UNPROVEN)
        fire = Event("a fire", nothing, (), (ends("a reason", "a door", "a hatch", users=VERIFIED),))

        assert Matrix([way, window], [fire]).complaints() == [
            "the way 'a door' names the event 'a flood', which does not exist",
            "the event 'a fire' names the way 'a hatch', which does not exist",
            "'a window' is not for every user, and does not say why",
            "2 verdicts for 'a door' when 'a fire' happens (verified, 2FA)",
            "2 verdicts for 'a door' when 'a fire' happens (verified, no 2FA)",
            "no verdicts for 'a window' when 'a fire' happens (unverified, no 2FA)",
        ]


class TestCells:
    @pytest.mark.parametrize("users", KINDS, ids=str)
    async def test_without_an_event_every_way_lets_in(self, subject: Subject, users: Users) -> None:
        held = [way for way in MATRIX.ways if users in way.users]

        assert await tried(subject, held) == {way.name: Verdict.STAYS for way in held}

    @pytest.mark.parametrize(
        ("event", "users"),
        [pytest.param(event, users, id=f"{event.name}: {users}") for event, users in MATRIX.scenarios()],
    )
    async def test_say_what_becomes_of_each_way(self, subject: Subject, event: Event, users: Users) -> None:
        await event.happen(subject)
        recorded = await audited(subject.service)
        found = await tried(subject, [way for way in MATRIX.ways if users in way.users])

        expected = MATRIX.column(event, users)
        assert {name: str(verdict) for name, verdict in found.items() if verdict != expected[name]} == {}
        assert set(event.audit) <= recorded
