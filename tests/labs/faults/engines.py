"""A PostgreSQL that the tests of faults may break: stopped, frozen, read-only, followed by its standby."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import make_url

from tests.labs.faults.asking import PLAIN
from tests.postgres import Cluster
from tests.proxy import Proxy
from tests.service import Service, running_service


class OwnCluster(Cluster):
    """A private server on which what is committed survives a crash of the server."""

    def __init__(self) -> None:
        super().__init__(None, synchronous_commit="on", max_connections="50")

    def processes(self) -> list[int]:
        """Return the server's processes, the one that starts the others first."""
        assert self._directory is not None
        parent = int((self._directory / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        return [parent, *(pid for pid in _all() if _parent(pid) == parent)]

    def freeze(self) -> None:
        """Suspend the server: connections are taken by the system, and nothing is answered."""
        for pid in self.processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume it."""
        for pid in reversed(self.processes()):
            os.kill(pid, signal.SIGCONT)

    def fail_over(self) -> None:
        """Stop the server as a crash would; in its place comes a standby that has everything, and can only be read."""
        assert self._directory is not None
        self.halt()
        (self._directory / "data" / "standby.signal").touch()
        self.resume()

    def promote(self) -> None:
        """Make the standby a server that can be written to."""
        self._run("pg_ctl", "-D", "data", "-w", "promote")

    async def run(self, *statements: str, url: str | None = None) -> list[Any]:
        """Run statements as an operator; give the rows of the last one."""
        connection = await asyncpg.connect(url or self.url())
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return list(await connection.fetch(statements[-1]))
        finally:
            await connection.close()

    async def connections(self) -> int:
        """Return how many connections the services have."""
        [row] = await self.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatewright'")
        return int(row[0])


class Replica(OwnCluster):
    """A standby that follows a primary, as far as it is let, and can be promoted."""

    def __init__(self, primary: OwnCluster) -> None:
        super().__init__()
        self._primary = make_url(primary.url())

    def _fill(self) -> None:
        host, port = str(self._primary.host), str(self._primary.port)
        self._run("pg_basebackup", "-h", host, "-p", port, "-U", "postgres", "-D", "data", "-R", "-c", "fast")


@asynccontextmanager
async def relayed(
    url: str, directory: Path, settings: Mapping[str, str] = PLAIN
) -> AsyncIterator[tuple[Service, Proxy]]:
    """Yield a service that reaches its database by a relay, and the relay."""
    real = make_url(url)
    relay = Proxy(str(real.host), int(real.port or 5432))
    through = real.set(host="127.0.0.1", port=await relay.start()).render_as_string()
    try:
        async with running_service(through, directory, settings) as service:
            yield service, relay
    finally:
        await relay.stop()


async def restart(cluster: Cluster) -> None:
    """Stop the server as a crash would, and start it again."""
    await asyncio.to_thread(cluster.halt)
    await asyncio.to_thread(cluster.resume)


def _all() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _parent(pid: int) -> int:
    """Return the parent of a process; 0 of one that has ended meanwhile."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
