"""Two Redis servers and three Sentinels on three hosts, with the settings of the manual: a store for the limits."""

import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.labs.ha.processes import Program, free_ports, send, until
from tests.redis_server import program

SERVICE = "limits"
"""What the Sentinels call the servers."""
WITHIN = 0.5
"""Seconds for an answer to those who look at the store."""
TIMEOUT = 60.0
"""Seconds for the store to become whole."""

_SERVER = """
bind 127.0.0.1
port {port}
dir {directory}
appendonly yes
appendfilename {name}.aof
appenddirname {name}
dbfilename {name}.rdb
maxmemory-policy noeviction
{more}
"""

_SENTINEL = """
bind 127.0.0.1
port {port}
dir {directory}
sentinel monitor limits 127.0.0.1 {primary} 2
sentinel down-after-milliseconds limits 2000
sentinel failover-timeout limits 5000
"""


@dataclass(frozen=True)
class Host:
    """A Sentinel, and on the first two hosts a server, each with its port."""

    sentinel: int
    server: int | None
    programs: Sequence[Program]

    def start(self) -> None:
        """Start everything on the host, with what was on its disk."""
        for each in self.programs:
            each.start()

    def kill(self) -> None:
        """Kill everything on the host."""
        for each in self.programs:
            each.kill()

    def freeze(self) -> None:
        """Stop every process of the host without ending it."""
        send(signal.SIGSTOP, self._pids())

    def thaw(self) -> None:
        """Resume the processes of the host."""
        send(signal.SIGCONT, self._pids())

    def _pids(self) -> list[int]:
        return [pid for each in self.programs for pid in each.pids()]


class LimitStore:
    """The servers and their Sentinels."""

    def __init__(self, directory: Path) -> None:
        """Prepare them in a folder that exists; `start` starts them."""
        self._directory = directory
        first, second, *sentinels = free_ports(5)
        servers = {
            first: self._program("server-1", _SERVER, port=first, more=""),
            second: self._program("server-2", _SERVER, port=second, more=f"replicaof 127.0.0.1 {first}"),
        }
        self.hosts = []
        for number, (port, server) in enumerate(zip(sentinels, (first, second, None), strict=True), 1):
            sentinel = self._program(f"sentinel-{number}", _SENTINEL, "--sentinel", port=port, primary=first)
            programs = [sentinel] if server is None else [servers[server], sentinel]
            self.hosts.append(Host(port, server, programs))

    def _program(self, name: str, settings: str, *options: str, **values: object) -> Program:
        file = self._directory / f"{name}.conf"  # the program writes into it, too
        file.write_text(settings.format(name=name, directory=self._directory, **values))
        words = [program(), str(file), *options]
        return Program(words, self._directory, self._directory / f"{name}.log", user=None)

    @property
    def address(self) -> str:
        """The address for `limits.store`."""
        sentinels = ",".join(f"127.0.0.1:{host.sentinel}" for host in self.hosts)
        return f"redis+sentinel://{sentinels}/{SERVICE}"

    async def start(self) -> None:
        """Start everything, and return once it is whole."""
        for host in self.hosts:
            host.start()
        await self.whole()

    def stop(self) -> None:
        """End everything, whatever state it is in."""
        for host in self.hosts:
            host.kill()

    async def primary(self) -> Host:
        """Return the host of the server that the Sentinels call the primary. Raises RuntimeError."""
        port = await self._primary_port()
        for host in self.hosts:
            if host.server == port:
                return host
        raise RuntimeError("no Sentinel knows a primary")

    async def write(self) -> bool:
        """Return whether something could be written at the primary."""
        port = await self._primary_port()
        try:
            async with _client(port or 0) as client:
                return bool(await client.set("watch", 1))
        except (RedisError, OSError):
            return False

    async def has_replicated(self) -> bool:
        """Return whether the other server has everything that the primary has."""
        async with _client(await self._primary_port() or 0) as primary:
            await primary.set("watch", 1)
            return await primary.wait(1, 100) == 1

    async def whole(self) -> None:
        """Return once a server follows the other, and all Sentinels watch both and know each other."""
        await until(self._is_whole, "a whole store of limits", TIMEOUT)

    async def _primary_port(self) -> int | None:
        """Return the port that the first Sentinel that answers names."""
        for host in self.hosts:
            try:
                async with _client(host.sentinel) as client:
                    named = await client.sentinel_get_master_addr_by_name(SERVICE)
            except (RedisError, OSError):
                continue
            if isinstance(named, tuple):
                return int(named[1])
        return None

    async def _is_whole(self) -> bool:
        try:
            seen = [await self._seen(host) for host in self.hosts]
            async with _client(seen[0][0]) as primary:
                state = await primary.info("replication")
        except (RedisError, OSError):
            return False
        replica = state.get("slave0", {})
        return replica.get("state") == "online" and set(seen) == {(seen[0][0], 1, 2)}

    async def _seen(self, host: Host) -> tuple[int, int, int]:
        """Return the port of the primary as a Sentinel sees it, and how many replicas and Sentinels it sees, too."""
        async with _client(host.sentinel) as client:
            state = await client.info("sentinel")
            primary = await client.sentinel_master(SERVICE)
            replicas = await client.sentinel_slaves(SERVICE)
        assert isinstance(primary, dict)
        well = sum(not (each["is_sdown"] or each["is_disconnected"]) for each in replicas)
        # One that was frozen trusts nothing that it sees for half a minute.
        is_blind = primary["is_sdown"] or state["sentinel_tilt"]
        sentinels = 0 if is_blind else primary["num-other-sentinels"]
        return primary["port"], well, sentinels


@asynccontextmanager
async def _client(port: int) -> AsyncIterator[Redis]:
    client = Redis(port=port, socket_timeout=WITHIN, socket_connect_timeout=WITHIN)
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def storing(directory: Path) -> AsyncIterator[LimitStore]:
    """Yield a store that runs, in a folder that is made for it; end it, whatever happens."""
    directory.mkdir()  # noqa: ASYNC240 - before anything runs
    store = LimitStore(directory)
    try:
        await store.start()
        yield store
    finally:
        store.stop()
