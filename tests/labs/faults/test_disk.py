"""A disk without space under the database, under the log and under the file of mails: R8 of the fault list.

Two kinds of full disk: a small file system of its own, where it may be mounted, and a limit on the size of files, which
can be set on a running process anywhere.
"""

import asyncio
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import asyncpg
import pytest

from tests.conftest import Headers, MakeService
from tests.handlers.steps import bearer, code, join
from tests.labs.faults.asking import PLAIN, TIMEOUT, UNAVAILABLE, Asker, asking, measured, told, until
from tests.labs.faults.places import IS_LONG
from tests.live import LiveService, Output, launch, serving
from tests.postgres import EMBEDDED, Cluster
from tests.settings.api_keys import VERIFIER

MOST = 400
"""Sign-ups that are tried until the disk is full: what is allocated already is used up first."""

LONG_NAME = "Ada" * 60


@dataclass(frozen=True)
class SmallDisk:
    """A file system of a few MB."""

    directory: Path

    def fill(self, process: int) -> None:
        """Write a file into what is left, the last byte of it."""
        with (self.directory / "ballast").open("wb", buffering=0) as ballast:
            for size in (65536, 512, 1):
                try:
                    while ballast.write(b"\0" * size):
                        pass
                except OSError:
                    continue

    def free(self, process: int) -> None:
        """Remove the file."""
        (self.directory / "ballast").unlink()


@dataclass(frozen=True)
class LimitedFiles:
    """A directory in which a process may make no file larger than the largest is by now."""

    directory: Path

    def fill(self, process: int) -> None:
        """Set the limit."""
        largest = max(path.stat().st_size for path in self.directory.iterdir())
        resource.prlimit(process, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))

    def free(self, process: int) -> None:
        """Take the limit away."""
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process, resource.RLIMIT_FSIZE, unlimited)


@contextmanager
def mounted(directory: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a small file system; skips the test where that is not allowed."""
    if not mount(directory, size):
        pytest.skip("a file system can only be mounted by root")
    try:
        yield SmallDisk(directory)
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def mount(directory: Path, size: str) -> bool:
    """Make a directory, and mount a small file system there; whether that was allowed."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def open_to_all() -> Iterator[Path]:
    """Yield a folder for a server that runs as somebody else, who may not look into the folders of the tests."""
    place = Path(tempfile.mkdtemp(prefix="gatewright-disk-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


@pytest.fixture(params=["small", "limited"] if IS_LONG else ["either"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk | LimitedFiles]:
    """A disk that can be full; outside the long form a small one where that is possible, otherwise limited files."""
    directory = tmp_path / "disk"
    if request.param == "small":
        with mounted(directory, "4m") as disk:
            yield disk
    elif request.param == "either" and mount(directory, "4m"):
        yield SmallDisk(directory)
        subprocess.run(["umount", "--lazy", str(directory)], check=True)
    else:
        directory.mkdir(exist_ok=True)
        yield LimitedFiles(directory)


async def fill_up(asker: Asker) -> list[str]:
    """Sign people up until nobody can be; give the addresses of those who were told that they have an account."""
    kept: list[str] = []
    for _ in range(MOST):
        email = asker.address()
        answer = await asker.post(
            "/sign-up/email", {"name": LONG_NAME, "email": email, "password": "pass phrase"}
        )
        if code(answer) == UNAVAILABLE:
            return kept
        assert answer.status_code == 200
        kept.append(email)
    raise AssertionError("the disk is not full")


async def look_around(asker: Asker, headers: Headers) -> None:
    """See what a database without space leaves; the session is due for extension, which is skipped if need be."""
    looked = [await asker.get(path, headers) for path in ("/get-session", "/list-sessions", "/ready", "/ok")]
    assert told(looked) == {"200": 4}


@pytest.mark.threat("R8")
class TestDatabase:
    """The disk under the database is full."""

    async def test_sqlite_goes_on_reading_and_writes_when_there_is_space(
        self, disk: SmallDisk | LimitedFiles, tmp_path: Path
    ) -> None:
        """API keys without counters are valid all the time."""
        path = disk.directory / "gatewright.db"
        settings = {
            **PLAIN,
            "database_url": f"sqlite:///{path}",
            "session.update_age": "0s",
            "api_keys.verifiers": f"tests:{VERIFIER}",
        }
        with serving(tmp_path, settings) as service:
            async with asking(service) as asker:
                email, headers = await asker.join()
                with closing(sqlite3.connect(path, timeout=60)) as file, file:
                    file.execute("UPDATE \"user\" SET role = 'admin' WHERE email = ?", (email,))
                plain, counted = [
                    (await asker.post("/api-key/create", body, headers)).json()["key"]
                    for body in ({}, {"remaining": 10_000})
                ]

                async def verify(key: str) -> str:
                    answer = await asker.post("/api-key/verify", {"key": key}, bearer(VERIFIER))
                    return code(answer) if answer.is_error else str(answer.json()["valid"])

                async def is_verified(key: str, told: str) -> bool:
                    return await verify(key) == told

                disk.fill(service.process.pid)
                try:
                    kept = await fill_up(asker)
                    await look_around(asker, headers)
                    await until(partial(is_verified, counted, UNAVAILABLE))
                    assert {await verify(plain) for _ in range(20)} == {"True"}
                finally:
                    disk.free(service.process.pid)
                measured("R8 first write with space", await until(asker.writes))
                await until(partial(is_verified, counted, "True"))
                assert (await asker.get("/get-session", headers)).status_code == 200

        with closing(sqlite3.connect(path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert set(kept) <= {row[0] for row in file.execute('SELECT email FROM "user"')}
        logged = "".join(service.output.lines)
        assert '"reason":"SQLITE_FULL"' in logged or '"reason":"SQLITE_IOERR_WRITE"' in logged
        assert not [line for line in service.output.faults() if "api_key_usage" in line]

    async def test_postgresql_goes_on_reading_and_writes_when_there_is_space(
        self, cluster: Cluster, tmp_path: Path
    ) -> None:
        """The server's own log of changes has space, as otherwise the server itself would stop: that is R1."""
        if os.environ.get("GATEWRIGHT_TEST_POSTGRES", EMBEDDED) != EMBEDDED:
            pytest.skip("the server is one that was given, and its disks are not the test's to fill")
        url = cluster.create(migrated=True)
        name = url.rpartition("/")[2]
        with open_to_all() as place, mounted(place / "disk", "24m") as disk:
            shutil.chown(disk.directory, "postgres", "postgres")
            operator = await asyncpg.connect(cluster.url())
            await operator.execute(f"CREATE TABLESPACE small LOCATION '{disk.directory}'")
            await operator.execute(f"ALTER DATABASE {name} SET TABLESPACE small")
            try:
                with serving(tmp_path, {**PLAIN, "database_url": url, "session.update_age": "0s"}) as service:
                    async with asking(service) as asker:
                        _, headers = await asker.join()
                        disk.fill(service.process.pid)
                        kept = await fill_up(asker)
                        await look_around(asker, headers)
                        disk.free(service.process.pid)
                        measured("R8 first write with space", await until(asker.writes))
                rows = await self.users(url)
            finally:
                await operator.execute(f"DROP DATABASE {name} WITH (FORCE)")
                await operator.execute("DROP TABLESPACE small")
                await operator.close()

        assert set(kept) <= rows
        assert '"reason":"53100 DiskFullError"' in "".join(service.output.lines)

    async def users(self, url: str) -> set[str]:
        connection = await asyncpg.connect(url)
        rows = await connection.fetch('SELECT email FROM "user"')
        await connection.close()
        return {row[0] for row in rows}


@contextmanager
def logging_into(path: Path, directory: Path, settings: dict[str, str]) -> Iterator[LiveService]:
    """Run the service with its output in a file."""
    with path.open("ab") as output:
        process = launch(directory, settings, "--port", "0", output=output)
    try:
        service = LiveService("", process, Output())
        yield service
    finally:
        process.terminate()
        process.wait(TIMEOUT)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the log, without what the development profile prints. Every line must be whole, but
    for the last one, which may be on its way."""
    whole = path.read_text().rpartition("\n")[0].splitlines()
    return [json.loads(line) for line in whole if not line.startswith(("Gatewright", "  "))]


@pytest.mark.threat("R8")
class TestLog:
    """The disk under the log is full."""

    async def test_requests_go_on_and_the_log_does_when_there_is_space(
        self, disk: SmallDisk | LimitedFiles, cluster: Cluster, tmp_path: Path
    ) -> None:
        """The database is elsewhere. No line is torn: who reads the log reads JSON to the end."""
        log = disk.directory / "log"
        settings = {**PLAIN, "database_url": cluster.create(migrated=True)}
        with logging_into(log, tmp_path, settings) as service:

            async def has(event: str) -> list[dict[str, Any]]:
                return [line for line in lines(log) if line["event"] == event]

            await until(lambda: has("service.started"))
            [started] = await has("service.started")
            url = f"http://{started['address']}"
            async with asking(LiveService(url, service.process, service.output)) as asker:
                _, headers = await asker.join()
                disk.fill(service.process.pid)
                try:
                    await asyncio.gather(*(asker.sign_up(asker.address()) for _ in range(5)))
                    answers = [await asker.get("/get-session", headers) for _ in range(200)]
                finally:
                    disk.free(service.process.pid)
                assert told(answers) == {"200": 200}
                await asker.get("/error?error=AFTER")
                await until(lambda: self.has_query(log, "error=AFTER"))
        [stopped] = await has("service.stopped")
        assert stopped["level"] == "info"

    async def has_query(self, log: Path, query: str) -> bool:
        return query in {line.get("query") for line in lines(log)}

    async def test_a_log_that_nobody_reads_any_more(self, cluster: Cluster, tmp_path: Path) -> None:
        """What the log was piped into has ended."""
        settings = {**PLAIN, "database_url": cluster.create(migrated=True)}
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as output:
            process = launch(tmp_path, settings, "--port", "0", output=output)
        try:
            with os.fdopen(reading, "rb") as log:
                started = await asyncio.to_thread(self.started, log)
            async with asking(LiveService(f"http://{started}", process, Output())) as asker:
                _, headers = await asker.join()
                answers = [await asker.get("/get-session", headers) for _ in range(20)]
        finally:
            process.terminate()

        assert told(answers) == {"200": 20}
        assert process.wait(TIMEOUT) == 0

    def started(self, log: IO[bytes]) -> str:
        """Read until the service has started; give its address."""
        for line in log:
            if b"service.started" in line:
                return str(json.loads(line)["address"])
        raise AssertionError("the service has not started")


@pytest.mark.threat("R8")
class TestMail:
    """The disk under the file of mails is full."""

    async def test_the_mail_waits_and_no_line_of_the_file_is_torn(
        self, make_cold_service: MakeService, tmp_path: Path
    ) -> None:
        with mounted(tmp_path / "disk", "64k") as disk:
            file = disk.directory / "mail.jsonl"
            service = await make_cold_service({"mail.file_path": str(file), "password_reset.sender": "none"})
            await join(service)
            await service.services.worker.drain()
            disk.fill(0)
            await join(service, "eve@example.com")
            await service.services.worker.drain()
            disk.free(0)
            service.clock.advance(seconds=30)
            await service.services.worker.drain()
            mails = [json.loads(line) for line in file.read_text().splitlines()]

        assert [mail["to"] for mail in mails] == ["ada@example.com", "eve@example.com"]
