"""A backup is taken while the service runs, and restored a day later (R45)."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.handlers import steps
from tests.handlers.steps import NEW_PASSWORD, bearer, code, join, works
from tests.labs.faults import releases
from tests.labs.faults.places import Place
from tests.labs.faults.wholeness import halves
from tests.postgres import Cluster, binaries
from tests.security import second_factor
from tests.service import PASSWORD, START, Service, running_service

CAROL = "carol@example.com"
UNKNOWN_TO_IT = [401, 401, 401, 200, 400, 401, 200]
"""What is told to those whom the backup does not know: what a stranger is told."""

Open = Callable[[Place], Awaitable[Service]]


@pytest.fixture
async def opening() -> AsyncIterator[Open]:
    """What opens a service at a place, and closes it at the end."""
    settings = {"secrets": "s" * 32, "limits.enabled": "false", "audit.retention": "0"}
    async with AsyncExitStack() as ends:

        async def open_(place: Place) -> Service:
            return await ends.enter_async_context(running_service(place.url, place.directory, settings))

        yield open_


async def run(*words: object) -> None:
    """Run a program to its end, which must be a good one."""
    process = await asyncio.create_subprocess_exec(*map(str, words), stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()


def program(name: str) -> str:
    """Find one of PostgreSQL's programs: on PATH, or beside those that the server under test is made with."""
    return shutil.which(name) or str((binaries() / "initdb").resolve().with_name(name))


async def back_up(place: Place, dialect: str) -> Path:
    """Take a backup as docs/pages/operations/backup.md says; without the program sqlite3 by the same function of it."""
    file = place.directory / "backup"
    if dialect == "postgresql":
        await run(program("pg_dump"), "--format=custom", f"--file={file}", place.url)
    elif shutil.which("sqlite3"):
        await run("sqlite3", place.directory / "gatewright.db", f".backup {file}")
    else:
        await asyncio.to_thread(_copy, place.directory / "gatewright.db", file)
    return file


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as ours, closing(sqlite3.connect(target)) as copy:
        ours.backup(copy)


async def restore(file: Path, place: Place, dialect: str, request: pytest.FixtureRequest) -> Place:
    """Restore a backup at a new place."""
    directory = place.directory / "restored"
    directory.mkdir()
    if dialect == "sqlite":
        shutil.copy(file, directory / "gatewright.db")
        return Place(directory, f"sqlite:///{directory / 'gatewright.db'}")
    cluster: Cluster = request.getfixturevalue("cluster")
    url = cluster.create()
    await run(program("pg_restore"), "--no-owner", f"--dbname={url}", file)
    return Place(directory, url)


@pytest.mark.threat("R45")
class TestRestoredBackup:
    """Yesterday's backup is restored."""

    async def test_what_happened_since_is_undone_and_surprises_nobody(
        self, place: Place, dialect: str, opening: Open, request: pytest.FixtureRequest
    ) -> None:
        service = await opening(place)
        ada, ended_later = await join(service), await join(service, "bob@example.com")
        mailed = await steps.reset_token(service)
        backup = await back_up(place, dialect)
        await service.post("/sign-out", headers=ended_later)
        await service.post("/reset-password", {"token": mailed, "newPassword": NEW_PASSWORD})
        carol = await second_factor.enrol(service, CAROL)
        pending = await second_factor.challenge(service, CAROL)
        trusted = await second_factor.trusted_device(service, carol)

        restored = await opening(await restore(backup, place, dialect, request))
        restored.clock.now = START
        restored.clock.advance(days=1)

        assert [await works(restored, headers) for headers in (ada, ended_later)] == [True, True]
        assert [await steps.opens(restored, one) for one in (PASSWORD, NEW_PASSWORD)] == [True, False]
        unknown = [
            await restored.get("/get-session", headers=carol.session),
            await restored.get("/list-sessions", headers=carol.session),
            await second_factor.enter(restored, "totp", carol.code(service), bearer(pending)),
            await restored.post(
                "/revoke-session", {"token": second_factor.token_in(carol.session)}, headers=ada
            ),
            await restored.post("/reset-password", {"token": steps.UNKNOWN, "newPassword": NEW_PASSWORD}),
            await steps.sign_in(restored, CAROL),
            await steps.sign_in(restored, headers=second_factor.cookie(second_factor.TRUST, trusted)),
        ]
        assert [answer.status_code for answer in unknown] == UNKNOWN_TO_IT

    async def test_one_taken_under_load_is_whole(
        self, place: Place, dialect: str, opening: Open, request: pytest.FixtureRequest
    ) -> None:
        service = await opening(place)
        taken = asyncio.Event()

        async def keep_signing_up(name: str) -> int:
            number = 0
            while not taken.is_set() or number < 3:
                await join(service, f"{name}{number}@example.com")
                number += 1
            return number

        guests = [asyncio.create_task(keep_signing_up(name)) for name in ("one", "two", "three")]
        backup = await back_up(place, dialect)
        taken.set()
        made = sum(await asyncio.gather(*guests))

        copy = await restore(backup, place, dialect, request)
        kept = await copy.rows('SELECT id FROM "user"')
        assert len(kept) <= made
        assert await halves(copy) == []

    async def test_everyone_is_signed_out_afterwards(self, place: Place, opening: Open) -> None:
        service = await opening(place)
        service.clock.now = datetime.now(UTC)  # as it is for the command
        ada = await second_factor.enrol(service)
        trusted = await second_factor.trusted_device(service, ada)
        mailed = await steps.reset_token(service)
        pending = await second_factor.challenge(service)

        done = await releases.run(place.directory, place.settings(), "users", "sign-out-everyone", "--yes")

        assert (done.status, "2 sessions ended.\n" in done.output) == (0, True)
        assert not await works(service, ada.session)
        again = await second_factor.sign_in(
            service, headers=second_factor.cookie(second_factor.TRUST, trusted)
        )
        assert second_factor.is_pending(again)
        used = await service.post("/reset-password", {"token": mailed, "newPassword": NEW_PASSWORD})
        entered = await second_factor.enter(service, "totp", ada.code(service), bearer(pending))
        assert [code(answer) for answer in (used, entered)] == [
            "400 INVALID_TOKEN",
            "401 INVALID_TWO_FACTOR_COOKIE",
        ]
        records = await place.rows("SELECT user_id FROM audit WHERE event = 'session.revoked_all'")
        assert [row.user_id for row in records] == [None]
