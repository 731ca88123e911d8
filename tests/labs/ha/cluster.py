"""Three PostgreSQL under Patroni, with etcd, and HAProxy that leads to the primary: the settings of the manual."""

import asyncio
import json
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from tests.labs.ha.processes import USER, Program, free_ports, program, send, servers, until
from tests.postgres import binaries

DATABASE = "gatewright"
TIMEOUT = 120.0
"""Seconds for the cluster to become whole."""
COMES_BACK = 60.0
"""Seconds for a standby to come back by itself."""

DRIVER_FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What connecting to a server that comes or goes may raise, or asking it something."""

_PATRONI: dict[str, Any] = {
    "scope": "gatewright",
    "bootstrap": {
        "dcs": {
            "ttl": 20,
            "loop_wait": 5,
            "retry_timeout": 5,
            "failsafe_mode": True,
            "postgresql": {
                "use_pg_rewind": True,
                "parameters": {"wal_log_hints": "on", "max_connections": 200, "wal_sender_timeout": "10s"},
            },
        },
        "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
    },
    "watchdog": {"mode": "off"},
}

_HAPROXY = """
global
    nbthread 1
defaults
    mode tcp
listen primary
    bind 127.0.0.1:{port}
    timeout connect 3s
    timeout client 1h
    timeout server 1h
    timeout check 2s
    option httpchk GET /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


@dataclass(frozen=True)
class Node:
    """One of the three hosts: its Patroni, and the ports of its database and of Patroni's API."""

    name: str
    patroni: Program
    data: Path
    port: int
    api: int

    def everything(self) -> list[int]:
        """Return the processes of the host."""
        return [*self.patroni.pids(), *servers(self.data)]

    def receivers(self) -> list[int]:
        """Return the processes that receive from the primary."""
        return [pid for pid, title in servers(self.data).items() if "walreceiver" in title]

    def url(self, database: str = DATABASE) -> str:
        """Return the address of a database of this host, past the proxy."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"


class PatroniCluster:
    """A cluster; every method that changes it says what an operator, or bad luck, does."""

    def __init__(self, directory: Path, *, is_synchronous: bool) -> None:
        """Prepare a cluster in a folder; `start` starts it."""
        self.is_synchronous = is_synchronous
        self._directory = directory
        ports = free_ports(9)
        self.port, etcd, peer = ports[:3]
        words = [
            program("etcd"), "--enable-v2", "--data-dir", str(directory / "etcd"), "--log-level", "error",
            "--listen-client-urls", f"http://127.0.0.1:{etcd}", "--advertise-client-urls", f"http://127.0.0.1:{etcd}",
            "--listen-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-cluster", f"default=http://127.0.0.1:{peer}",
        ]  # fmt: skip
        self._etcd = Program(words, directory, directory / "etcd.log")
        self.nodes = [
            self._node(f"node{number}", port, api, etcd)
            for number, (port, api) in enumerate(zip(ports[3:6], ports[6:9], strict=True), 1)
        ]
        proxy = directory / "haproxy.cfg"
        listed = "\n".join(
            f"    server {node.name} 127.0.0.1:{node.port} maxconn 100 check port {node.api}"
            for node in self.nodes
        )
        proxy.write_text(_HAPROXY.format(port=self.port, servers=listed))
        self._proxy = Program(
            [program("haproxy"), "-db", "-f", str(proxy)], directory, directory / "haproxy.log"
        )

    def _node(self, name: str, port: int, api: int, etcd: int) -> Node:
        data = self._directory / name
        settings = json.loads(json.dumps(_PATRONI))
        settings["bootstrap"]["dcs"]["synchronous_mode"] = self.is_synchronous
        settings |= {
            "name": name,
            "etcd": {"host": f"127.0.0.1:{etcd}"},
            "restapi": {"listen": f"127.0.0.1:{api}", "connect_address": f"127.0.0.1:{api}"},
            "postgresql": {
                "listen": f"127.0.0.1:{port}",
                "connect_address": f"127.0.0.1:{port}",
                "data_dir": str(data),
                "bin_dir": str(binaries()),
                "pgpass": str(self._directory / f"{name}.pgpass"),
                # Otherwise a standby that is made again waits for the next checkpoint, which takes minutes.
                "basebackup": [{"checkpoint": "fast"}],
                "authentication": {
                    "superuser": {"username": "postgres"},
                    "replication": {"username": "replicator"},
                    "rewind": {"username": "postgres"},
                },
                "parameters": {"unix_socket_directories": str(self._directory)},
                "pg_hba": [
                    "local all all trust",
                    "host all all 127.0.0.1/32 trust",
                    "host replication all 127.0.0.1/32 trust",
                ],
            },
        }
        file = self._directory / f"{name}.json"  # JSON is YAML
        file.write_text(json.dumps(settings))
        patroni = Program([program("patroni"), str(file)], self._directory, self._directory / f"{name}.log")
        return Node(name, patroni, data, port, api)

    @property
    def url(self) -> str:
        """The address that leads to the primary."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{DATABASE}"

    async def start(self) -> None:
        """Start everything, the first host first, and create the database."""
        self._etcd.start()
        self._proxy.start()
        self.nodes[0].patroni.start()
        await until(self._has_primary, "a primary", TIMEOUT)
        for node in self.nodes[1:]:
            node.patroni.start()
        await self.whole()
        connection = await asyncpg.connect((await self.primary()).url("postgres"))
        await connection.execute(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0")
        await connection.close()

    def stop(self) -> None:
        """End every process, whatever state it is in."""
        for node in self.nodes:
            pids = node.everything()
            node.patroni.kill()
            send(signal.SIGKILL, pids)
        self._proxy.kill()
        self._etcd.kill()

    async def primary(self) -> Node:
        """Return the host that is the primary, once there is one."""
        await until(self._has_primary, "a primary", TIMEOUT)
        for node in self.nodes:
            if await _status(node, "primary") == 200:
                return node
        raise RuntimeError("the primary is gone again")

    async def whole(self) -> None:
        """Return once all three hosts are well: a primary and two standbys that receive from it.

        A standby that does not come back by itself is made again, as an operator does.
        """
        try:
            await until(self._is_whole, "a whole cluster", COMES_BACK)
        except RuntimeError:
            await self._reinitialize()
            await until(self._is_whole, "a whole cluster", TIMEOUT)

    async def _reinitialize(self) -> None:
        receiving = {name for name, _ in await self._standbys()}
        primary = await self.primary()
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            for node in self.nodes:
                if node is not primary and node.name not in receiving:
                    print(f"{node.name} is made again", file=sys.stderr, flush=True)
                    await client.post(f"http://127.0.0.1:{node.api}/reinitialize", json={"force": True})

    async def _has_primary(self) -> bool:
        return 200 in await asyncio.gather(*(_status(node, "primary") for node in self.nodes))

    async def _is_whole(self) -> bool:
        states = [state for _, state in await self._standbys()]
        return len(states) == 2 and (
            not self.is_synchronous or ("sync" in states and await self._has_synchronous_standby())
        )

    async def _standbys(self) -> list[tuple[str, str]]:
        """Return the standbys that receive from the primary, and how; none where nobody answers."""
        try:
            connection = await asyncpg.connect(
                self.url.replace(DATABASE, "postgres"), timeout=2, command_timeout=2
            )
        except DRIVER_FAULTS:
            return []
        try:
            rows = await connection.fetch(
                "SELECT application_name, sync_state FROM pg_stat_replication"
                " WHERE state = 'streaming' AND application_name LIKE 'node%'"
            )
        except DRIVER_FAULTS:
            return []
        finally:
            connection.terminate()
        return [(row[0], row[1]) for row in rows]

    async def _has_synchronous_standby(self) -> bool:
        """Return whether Patroni knows one, too: it hands over to no other."""
        return 200 in await asyncio.gather(*(_status(node, "synchronous") for node in self.nodes))

    async def switch_over(self) -> None:
        """Switch over to another host by Patroni, as an operator does before maintenance."""
        primary = await self.primary()
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            answer = await client.post(
                f"http://127.0.0.1:{primary.api}/switchover", json={"leader": primary.name}
            )
        if answer.status_code != 200:
            raise RuntimeError(f"the switchover was refused: {answer.text}")

    def kill(self, node: Node) -> None:
        """Kill a host: its Patroni and its database at the same moment."""
        pids = node.everything()
        send(signal.SIGKILL, pids)
        node.patroni.kill()

    def kill_database(self, node: Node) -> None:
        """Kill the database of a host, whose Patroni stays."""
        send(signal.SIGKILL, servers(node.data))

    def freeze(self, node: Node) -> None:
        """Stop every process of a host without ending it, as a virtual machine that is moved."""
        send(signal.SIGSTOP, node.everything())

    def thaw(self, node: Node) -> None:
        """Resume the processes of a host."""
        send(signal.SIGCONT, [*servers(node.data), *node.patroni.pids()])

    def lose_consensus(self) -> None:
        """Kill the consensus store."""
        self._etcd.kill()

    def find_consensus(self) -> None:
        """Start the consensus store again, with what it held."""
        self._etcd.start()

    async def set_failsafe(self, *, is_on: bool) -> None:
        """Change `failsafe_mode`, and return once every host has read the settings again."""
        primary = await self.primary()
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            settings = f"http://127.0.0.1:{primary.api}/config"
            (await client.patch(settings, json={"failsafe_mode": is_on})).raise_for_status()
            changed = time.time()

            async def is_read() -> bool:
                asked = [client.get(f"http://127.0.0.1:{node.api}/patroni") for node in self.nodes]
                return all(each.json()["dcs_last_seen"] > changed for each in await asyncio.gather(*asked))

            await until(is_read, "failsafe_mode", TIMEOUT)

    def stall(self, standbys: list[Node]) -> list[int]:
        """Stop replication to standbys without ending it; return the processes that are stopped."""
        receivers = [pid for node in standbys for pid in node.receivers()]
        send(signal.SIGSTOP, receivers)
        return receivers

    async def connections(self) -> int:
        """Return how many connections instances have, at the host where they have most."""
        return max(await asyncio.gather(*(_connections(node) for node in self.nodes)))


async def _status(node: Node, path: str) -> int:
    try:
        async with httpx.AsyncClient(timeout=2, trust_env=False) as client:
            return (await client.get(f"http://127.0.0.1:{node.api}/{path}")).status_code
    except httpx.HTTPError:
        return 0


async def _connections(node: Node) -> int:
    """Return how many connections of instances a host has; none where nobody answers."""
    try:
        connection = await asyncpg.connect(node.url("postgres"), timeout=1, command_timeout=1)
    except DRIVER_FAULTS:
        return 0
    try:
        return int(
            await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatewright'"
            )
        )
    except DRIVER_FAULTS:
        return 0
    finally:
        connection.terminate()


@asynccontextmanager
async def running(directory: Path, *, is_synchronous: bool) -> AsyncIterator[PatroniCluster]:
    """Yield a cluster that runs, in a folder that is made for it; end it, whatever happens."""
    directory.mkdir()  # noqa: ASYNC240 - before anything runs
    if USER is not None:
        shutil.chown(directory, USER, USER)
    cluster = PatroniCluster(directory, is_synchronous=is_synchronous)
    try:
        await cluster.start()
        yield cluster
    finally:
        cluster.stop()
