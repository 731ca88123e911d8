"""Organizations while processes are killed, the database stops, and one with many members is deleted."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from models.session import Session
from models.statements import table_of
from models.user import User
from tests.conftest import Headers
from tests.handlers import organization_steps
from tests.handlers.organization_steps import MAIL, accept, add, broken, create, invite
from tests.handlers.people import Person
from tests.handlers.steps import join, token_in
from tests.labs.faults.asking import UNAVAILABLE, measured, told, until, until_ready
from tests.labs.faults.engines import OwnCluster, restart
from tests.labs.faults.places import IS_LONG, Place, Visitor
from tests.labs.faults.test_kill import LATEST, new_random
from tests.live import LiveService
from tests.service import Service, running_service

SETTINGS = {"organizations.enabled": "true", "organizations.teams.enabled": "true"}
PLAIN = {"limits.enabled": "false", "secrets": "s" * 32, **SETTINGS}
KILLS = 100 if IS_LONG else 2
KINDS = ("create", "accept", "delete")
AT_ONCE = 4
"""Users of each kind at the moment of a kill."""
MEMBERS = 100_000 if IS_LONG else 20_000
AT_A_TIME = 10_000
"""Rows that one statement stores: no statement may take longer than `database.timeout`."""
SLOWEST = 0.5
"""Seconds that a session may take to be read meanwhile, in 99 of 100 cases."""
SLOW_DELETION = (
    "CREATE TRIGGER slow BEFORE DELETE ON organization BEGIN"
    " SELECT count(*) FROM member, member AS other, (SELECT 1 FROM member LIMIT 3); END"
)
"""Has the statement that deletes an organization of ten thousand members take seconds on SQLite."""


@dataclass
class Step:
    """What a user is about to do, and what they were told."""

    kind: str
    slug: str
    take: Callable[[Visitor], Awaitable[httpx.Response]]
    answer: httpx.Response | None = None

    async def act(self, visitor: Visitor) -> None:
        """Take it; nothing is known of it when nobody answers."""
        try:
            self.answer = await self.take(visitor)
        except httpx.TransportError:
            return
        assert self.answer.status_code == 200, self.answer.text


async def prepare(place: Place, visitor: Visitor, kind: str, slug: str) -> Step:
    """Return the step of a user who has all that it needs."""
    owner = await visitor.join(f"{slug}@example.com")
    body = {"name": "Acme", "slug": slug}
    if kind == "create":
        return Step(kind, slug, lambda visitor: visitor.post("/organization/create", owner, **body))
    made = (await visitor.post("/organization/create", owner, **body)).json()["id"]
    email = f"guest-{slug}@example.com"
    guest = await visitor.join(email)
    sent = await visitor.post("/organization/invite-member", owner, email=email, role="member")
    assert sent.status_code == 200, sent.text
    if kind == "delete":
        return Step(
            kind, slug, lambda visitor: visitor.post("/organization/delete", owner, organizationId=made)
        )
    secret = token_in((await place.mail(email, MAIL))["link"])
    return Step(
        kind,
        slug,
        lambda visitor: visitor.post("/organization/accept-invitation", guest, invitationId=secret),
    )


async def check(place: Place, steps: list[Step]) -> list[str]:
    """Return what was told and is not so."""
    slugs = {row.slug for row in await place.rows("SELECT slug FROM organization")}
    joined = {
        row.slug
        for row in await place.rows(
            "SELECT o.slug FROM organization o JOIN member m ON m.organization_id = o.id"
            " JOIN invitation i ON i.organization_id = o.id WHERE NOT m.is_owner AND i.status = 'accepted'"
        )
    }
    is_so = {
        "create": lambda step: step.slug in slugs,
        "accept": lambda step: step.slug in joined,
        "delete": lambda step: step.slug not in slugs,
    }
    return [step.slug for step in steps if step.answer is not None and not is_so[step.kind](step)]


async def kill_among(live: LiveService, steps: list[Step], chance: Any) -> None:
    """Take all steps at once, and kill the process when some are answered."""
    async with Visitor(live) as visitor:
        taking = [asyncio.create_task(step.act(visitor)) for step in steps]
        for done in itertools.islice(asyncio.as_completed(taking), chance.randrange(len(taking))):
            await done
        await asyncio.sleep(chance.uniform(0, LATEST))
        live.process.kill()
        await asyncio.gather(*taking)
    await asyncio.to_thread(live.process.wait)


@pytest.mark.threat("ORG25")
async def test_a_killed_process_leaves_no_half_of_an_organization(place: Place) -> None:
    chance, steps = new_random(), list[Step]()
    for number in range(KILLS):
        with place.serving(SETTINGS) as live:
            async with Visitor(live) as visitor:
                slugs = [(kind, f"{kind}-{number}-{one}") for kind in KINDS for one in range(AT_ONCE)]
                steps = [await prepare(place, visitor, *each) for each in slugs]
            chance.shuffle(steps)
            await kill_among(live, steps, chance)
        assert await broken(place) == []
        assert await check(place, steps) == []
        unanswered = (
            "SELECT i.id FROM invitation i WHERE (i.status = 'accepted') <> EXISTS (SELECT 1 FROM member m"
        )
        unanswered += " WHERE m.organization_id = i.organization_id AND NOT m.is_owner)"
        assert await place.rows(unanswered) == []


@pytest.mark.threat("ORG27")
async def test_a_database_that_stops_lets_in_once_at_most(server: OwnCluster, tmp_path: Path) -> None:
    url = server.create(migrated=True)
    async with running_service(url, tmp_path, {**PLAIN, "database.timeout": "30s"}) as service:
        ada, bob = await add(service, "ada"), await add(service, "bob")
        await create(service, ada)
        made = await invite(service, ada, bob.email)
        # All of them wait for the row of their user when the server ends.
        holding = await asyncpg.connect(url)
        await holding.execute("BEGIN")
        await holding.execute("SELECT 1 FROM \"user\" WHERE email = 'bob@example.com' FOR UPDATE")
        accepting = asyncio.gather(*(accept(service, bob, made["id"]) for _ in range(20)))
        waiting = (
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )

        async def is_blocked() -> bool:
            return bool(await server.run(waiting, url=url))

        await until(is_blocked)
        await restart(server)
        answers = told(await accepting)
        holding.terminate()
        await until_ready(service)

        rows = await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id)
        assert answers["200"] <= len(rows) <= 1
        assert set(answers) <= {"200", UNAVAILABLE, "400 INVITATION_NOT_FOUND", "503 OVERLOADED"}
        assert answers[UNAVAILABLE] > 0
        await accept(service, bob, made["id"])
        assert len(await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id)) == 1
        assert await broken(service) == []


@pytest.mark.threat("ORG30")
async def test_many_members_go_while_sessions_are_read(place: Place) -> None:
    async with running_service(place.url, place.directory, PLAIN) as service:
        ada = await add(service, "ada")
        acme = (await create(service, ada))["id"]
        await fill(service, acme, MEMBERS)
        eve = await join(service, "eve@example.com")
        deleted, took, times = await read_during_deletion(service, acme, ada, eve)
        measured(f"ORG30 the deletion of {MEMBERS} members", took)

        left = await organization_steps.stored(service)
        assert deleted.status_code in (200, 503)
        if deleted.status_code == 200:
            assert {table: len(rows) for table, rows in left.items() if rows} == {}
            assert await service.rows("SELECT id FROM session WHERE active_organization_id IS NOT NULL") == []
        else:
            assert len(left["member"]) == MEMBERS + 1
        assert await broken(service) == []
    times.sort()
    measured("ORG30 reading a session meanwhile, 99 of 100", times[int(len(times) * 0.99)])
    assert times[int(len(times) * 0.99)] < SLOWEST


@pytest.mark.threat("ORG30")
async def test_sqlite_reads_sessions_while_it_deletes(tmp_path: Path) -> None:
    url, settings = f"sqlite:///{tmp_path / 'gatewright.db'}", {**PLAIN, "database.timeout": "60s"}
    async with running_service(url, tmp_path, settings) as service:
        ada = await add(service, "ada")
        acme = (await create(service, ada))["id"]
        await fill(service, acme, AT_A_TIME)
        async with service.services.database.transaction() as db:
            await db.execute(text(SLOW_DELETION))
        eve = await join(service, "eve@example.com")

        deleted, took, times = await read_during_deletion(service, acme, ada, eve)

        assert deleted.status_code == 200
    assert max(times) < took / 2


async def read_during_deletion(
    service: Service, organization_id: str, owner: Person, reader: Headers
) -> tuple[httpx.Response, float, list[float]]:
    """Delete an organization; return the answer, its seconds, and those of each session that was read meanwhile."""
    times: list[float] = []
    began = time.monotonic()
    deleting = asyncio.create_task(
        service.post("/organization/delete", {"organizationId": organization_id}, headers=owner.headers)
    )
    while not deleting.done():
        asked = time.monotonic()
        answer = await service.get("/get-session", headers=reader)
        times.append(time.monotonic() - asked)
        assert answer.status_code == 200
    return await deleting, time.monotonic() - began, times


async def fill(service: Service, organization_id: str, number: int) -> None:
    """Store members of an organization, each with a session in which it is active."""
    is_sqlite = service.services.database.dialect == "sqlite"
    digest = "CAST('d' || n AS BLOB)" if is_sqlite else "('d' || n)::bytea"
    users = _copied(table_of(User), {"id": "'u' || n", "email": "'u' || n || '@example.com'"})
    sessions = _copied(
        table_of(Session),
        {
            "id": "'s' || n",
            "user_id": "'u' || n",
            "token_digest": digest,
            "token_copy": "NULL",
            "active_team_id": "NULL",
        },
    )
    members = (
        "INSERT INTO member (id, organization_id, user_id, role, is_owner, created_at, updated_at)"
        " {numbers} SELECT 'm' || n, t.organization_id, 'u' || n, 'member', false, t.created_at, t.updated_at"
        " FROM numbers, member t WHERE t.is_owner"
    )
    numbers = (
        "WITH RECURSIVE numbers(n) AS"
        " (SELECT CAST(:first AS integer) UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)"
    )
    for first in range(1, number, AT_A_TIME):
        for statement in (users, sessions, members):
            async with service.services.database.transaction() as db:
                filled = text(statement.format(numbers=numbers)).execution_options(in_thread=True)
                await db.execute(filled, first=first, last=first + AT_A_TIME - 1)


def _copied(table: Any, changed: dict[str, str]) -> str:
    """Return the statement that copies the first row of a table so many times, with changed columns."""
    names = [column.name for column in table.columns]
    values = ", ".join(changed.get(name, f"t.{name}") for name in names)
    columns = ", ".join(names)
    return (
        f'INSERT INTO "{table.name}" ({columns}) {{numbers}} SELECT {values} FROM numbers,'
        f' (SELECT * FROM "{table.name}" WHERE length(id) = 32 LIMIT 1) t'
    )
