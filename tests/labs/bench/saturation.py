"""`python -m tests.labs.bench.saturation`: how long others wait while a crowd wants more hashed than can be (R42).

A crowd signs in over 500 connections, each again as soon as it has its answer, which is one password in the pool, as
many as may wait for it, and everybody else refused. Meanwhile a few honest people look at their session and at `/ok`.
Prints what they waited before and during that. It asserts nothing.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tests.labs.bench import load, machine
from tests.labs.bench.accounts import PASSWORD, sign_up
from tests.labs.bench.growth import Figures, figures
from tests.labs.bench.servers import Server, ServerFailed, gatewright
from tests.postgres import Cluster

HONEST = 4
PAUSE = 0.02
"""Honest people, and the seconds each of them thinks between two requests."""

HEAD_START = 2.0
"""Seconds of the flood before anybody is measured: the connections are made, and the pool is full."""

GOAL = 500.0
"""Milliseconds at p99."""

_SCRIPT = Path(__file__).with_name("load.lua")

Seconds = Annotated[float, typer.Option(min=1, help="Length of each measurement.")]
Crowd = Annotated[int, typer.Option(min=1, help="Connections that sign in without end.")]
Databases = Annotated[str, typer.Option(help="Kinds of databases, separated by commas.")]


def main(seconds: Seconds = 20.0, crowd: Crowd = 500, databases: Databases = "sqlite,postgresql") -> None:
    """Measure the service, one worker on one processor, as it ships; the crowd and PostgreSQL have the other one."""
    # Whoever ends this ends the servers with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        load.check()
        cores = machine.choose_cores()
        os.sched_setaffinity(0, {cores.load})
        print(
            "| Database, request | before: p50 / p99 ms | during: p50 / p99 ms | longest | asked | failed | goal |"
        )
        print("|---|---|---|---|---|---|---|")
        for database in databases.split(","):
            with _service(database, cores.server) as server:
                _measure(server, seconds, crowd)
    except (load.WrkMissing, ServerFailed) as fault:
        sys.exit(str(fault))


@contextmanager
def _service(database: str, core: int) -> Iterator[Server]:
    """Lend the service on an empty database of a kind. Raises ServerFailed."""
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-bench-")))
        url = f"sqlite:///{directory / 'gatewright.db'}"
        if database == "postgresql":
            cluster = Cluster(None)
            cluster.start()
            ends.callback(cluster.stop)
            url = cluster.create()
        server = gatewright(database, url, directory)
        server.start(core)
        ends.callback(server.stop)
        yield server


def _measure(server: Server, seconds: float, crowd: int) -> None:
    reader, visitor = (sign_up(server, f"{name}@example.com") for name in ("reader", "visitor"))
    asked = {"/get-session": {"Authorization": f"Bearer {reader.bearer}"}, "/ok": {}}
    before = _ask(server, asked, seconds)
    with _flood(server, visitor.email, crowd, HEAD_START + seconds) as said:
        time.sleep(HEAD_START)
        spent = -machine.spent_seconds(server.pid)
        during = _ask(server, asked, seconds)
        spent += machine.spent_seconds(server.pid)
    for path in asked:
        print(_row(f"{server.name}, {path}", before[path], during[path]), flush=True)
    granted = said["requests"] - said["refused"]
    took = said["duration"] / 1e6
    print(
        f"{server.name}: of {crowd} who sign in at once {granted / took:,.0f} a second were let in,"
        f" {said['refused'] / took:,.0f} refused, {said['broken']} broken; the server had {spent / seconds:.0%} of its"
        " processor",
        file=sys.stderr,
    )


@dataclass(slots=True)
class Waits:
    """How long honest people waited for answers, in seconds, and what came instead of a 200."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def figures(self) -> Figures:
        """Return the median and the 99th percentile, in milliseconds."""
        return figures(self.seconds)


def _ask(server: Server, asked: Mapping[str, Mapping[str, str]], seconds: float) -> dict[str, Waits]:
    """Send the requests of honest users for so many seconds; return by path what they saw."""
    waits = {path: Waits() for path in asked}

    def keep_requesting(_: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for path, headers in asked.items():
                _one(connection, server.base_path + path, headers, waits[path])
                time.sleep(PAUSE)
        connection.close()

    with ThreadPoolExecutor(HONEST) as people:
        list(people.map(keep_requesting, range(HONEST)))
    return waits


def _one(connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str], waits: Waits) -> None:
    begun = time.perf_counter()
    try:
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        answer.read()
        fault = "" if answer.status == 200 else str(answer.status)
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        fault = type(error).__name__
    waits.seconds.append(time.perf_counter() - begun)
    if fault:
        waits.failed.append(fault)


@contextmanager
def _flood(server: Server, email: str, crowd: int, seconds: float) -> Iterator[dict[str, int]]:
    """Sign in over so many connections for so long; what wrk says of it is there at the end."""
    body = json.dumps({"email": email, "password": PASSWORD})
    command = [
        "wrk", "-t1", f"-c{crowd}", f"-d{round(seconds)}s", "--timeout", "60s", "-s", str(_SCRIPT),
        "-H", f"Origin: http://127.0.0.1:{server.port}", f"{server.url}/sign-in/email", "--", body,
    ]  # fmt: skip
    said: dict[str, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield said
            output, _ = process.communicate()
            said.update(json.loads(output.splitlines()[-1]))
        finally:
            process.kill()


def _row(name: str, before: Waits, during: Waits) -> str:
    quiet, busy = before.figures(), during.figures()
    is_met = "met" if busy.p99 < GOAL else "MISSED"
    cells = [
        name, f"{quiet.p50:.1f} / {quiet.p99:.1f}", f"{busy.p50:.1f} / {busy.p99:.1f}",
        f"{max(during.seconds) * 1000:.0f}", f"{len(during.seconds):,}", " ".join(during.failed) or "none",
        f"p99 < {GOAL:.0f} ms: {is_met}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
