"""What other processes may do to a SQLite file without more harm than a 503: R5 and R6 of the fault list."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Headers
from tests.labs.faults.asking import PLAIN, UNAVAILABLE, Asker, asking, measured, told, until
from tests.labs.faults.places import LONG
from tests.live import LiveService, serving
from tests.sqlite import locked


def emails(path: Path) -> set[str]:
    """Return the addresses of all users that have a password, as the file has them."""
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute('SELECT email FROM "user" JOIN account ON account.user_id = "user".id')
        return {row[0] for row in rows}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file."""
    return tmp_path_factory.mktemp("shared") / "gatewright.db"


def settings(path: Path, timeout: str) -> dict[str, str]:
    """Return the settings of a service on the file that waits so long for its lock."""
    return {
        **PLAIN,
        "database_url": f"sqlite:///{path}",
        "database.timeout": timeout,
        "session.update_age": "0s",
        "mail.sender": "none",
        "password_reset.sender": "console",
    }


@pytest.fixture(scope="module")
def hasty(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service that soon gives up waiting for the lock."""
    with serving(tmp_path_factory.mktemp("hasty"), settings(path, "1s")) as service:
        yield service


@pytest.fixture(scope="module")
def patient(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service on the same file that waits for as long as a machine may be slow."""
    with serving(tmp_path_factory.mktemp("patient"), settings(path, "60s")) as service:
        yield service


@pytest.fixture
async def asker(hasty: LiveService) -> AsyncIterator[Asker]:
    """A client of the hasty one."""
    async with asking(hasty) as asker:
        yield asker
        await until(asker.writes)


@pytest.fixture
async def patient_asker(patient: LiveService) -> AsyncIterator[Asker]:
    """A client of the patient one."""
    async with asking(patient) as asker:
        yield asker


@pytest.fixture
async def ada(patient_asker: Asker) -> tuple[str, Headers]:
    """A user: the address, and the headers of a session."""
    return await patient_asker.join()


@pytest.mark.threat("R5")
class TestLockedFile:
    """Another process holds the lock for writing."""

    async def test_what_reads_does_not_wait_and_what_writes_is_served_afterwards(
        self, path: Path, patient_asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        wanted = [patient_asker.address() for _ in range(5)]
        with locked(path):
            crowd = [asyncio.create_task(patient_asker.sign_up(email)) for email in wanted]
            for _ in range(20):
                assert (
                    await patient_asker.get("/get-session?disableRefresh=true", ada[1])
                ).status_code == 200
                assert (await patient_asker.get("/ok")).status_code == 200
            waited = not any(request.done() for request in crowd)
        answers = await asyncio.gather(*crowd)

        assert waited
        assert told(answers) == {"200": 5}
        assert set(wanted) <= emails(path)

    async def test_who_waits_too_long_is_told_and_nothing_has_happened(
        self, path: Path, hasty: LiveService, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        wanted = [asker.address() for _ in range(5)]
        with locked(path):
            answers = await asyncio.gather(
                *(asker.sign_up(email) for email in wanted),
                asker.sign_in(ada[0]),
                asker.post("/update-user", {"name": "Ada L."}, ada[1]),
                asker.post("/request-password-reset", {"email": ada[0]}),
            )
            # The session is due for extension, which is skipped.
            looked = [
                await asker.get(path, ada[1]) for path in ("/get-session", "/list-sessions", "/ready", "/ok")
            ]

        assert told(answers) == {UNAVAILABLE: 8}
        assert told(looked) == {"200": 4}
        assert not set(wanted) & emails(path)
        assert '"reason":"SQLITE_BUSY"' in "".join(hasty.output.lines)
        measured("R5 first write afterwards", await until(asker.writes))

    @LONG
    async def test_a_minute(self, path: Path, asker: Asker, ada: tuple[str, Headers]) -> None:
        with locked(path):
            async with asyncio.TaskGroup() as group:
                ends = asyncio.get_running_loop().time() + 60
                while asyncio.get_running_loop().time() < ends:
                    asked = group.create_task(asker.sign_up(asker.address()))
                    assert (await asker.get("/get-session?disableRefresh=true", ada[1])).status_code == 200
                    assert told([await asked]) == {UNAVAILABLE: 1}

        measured("R5 first write after a minute", await until(asker.writes))

    async def test_no_update_is_lost_while_the_lock_comes_and_goes(self, path: Path, asker: Asker) -> None:
        """Who is told that they have an account has one, and who is told to come again has none."""
        wanted = [asker.address() for _ in range(40)]
        crowd = [asyncio.create_task(asker.sign_up(email)) for email in wanted]
        while not all(request.done() for request in crowd):
            with locked(path):
                await asker.get("/ok")
            await asyncio.wait(crowd, timeout=0.05)
        answers = [request.result() for request in crowd]

        assert set(told(answers)) <= {"200", UNAVAILABLE}
        kept = {email for email, answer in zip(wanted, answers, strict=True) if answer.status_code == 200}
        assert set(wanted) & emails(path) == kept


@pytest.mark.threat("R6")
class TestSeveralProcesses:
    """Several processes of the service write to one file."""

    async def test_fifty_at_once_to_each_of_two(self, path: Path, asker: Asker, patient_asker: Asker) -> None:
        wanted = [asker.address() for _ in range(100)]
        askers = [asker, patient_asker] * 50

        answers = await asyncio.gather(
            *(one.sign_up(email) for one, email in zip(askers, wanted, strict=True))
        )

        assert set(told(answers)) <= {"200", UNAVAILABLE}
        assert told(answers[1::2]) == {"200": 50}
        kept = {email for email, answer in zip(wanted, answers, strict=True) if answer.status_code == 200}
        assert set(wanted) & emails(path) == kept

    async def test_what_one_wrote_the_other_reads(self, asker: Asker, ada: tuple[str, Headers]) -> None:
        assert (await asker.get("/get-session", ada[1])).status_code == 200
        assert (await asker.sign_in(ada[0])).status_code == 200
