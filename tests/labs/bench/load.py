"""The load: wrk with one thread, and how much of the machine strangers used meanwhile."""

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.labs.bench import machine
from tests.labs.bench.cases import Case
from tests.labs.bench.machine import Cores

CONNECTIONS = 32
RENEWED = 6_000
"""Sessions or codes for each second of a run in which every request uses one up: more than any server here does."""
BESIDE = 8
"""Connections of what is asked beside a case: more than enough to keep every thread hashing."""
_SCRIPT = Path(__file__).with_name("load.lua")

_SERVER_NOISE, _LOAD_NOISE = 0.06, 0.15
"""Shares of the two processors that strangers may use before a run counts as disturbed."""


class WrkMissing(Exception):
    """There is nothing to make the load with."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run showed; times in milliseconds, memory in MB, shares of one processor."""

    rate: float
    """Answers per second."""
    p50: float
    p99: float
    failures: int
    """Answers of 400 and above, and connections that broke."""
    memory: float
    cost: float
    """Processor time of the server for one answer, in microseconds."""
    strangers_at_server: float
    strangers_at_load: float

    @property
    def is_noisy(self) -> bool:
        """Return whether others took so much of the machine that the run says little."""
        return self.strangers_at_server > _SERVER_NOISE or self.strangers_at_load > _LOAD_NOISE


@dataclass(frozen=True, slots=True)
class _Moment:
    """Seconds of processor time used so far: of both processors, and by those whose work is being measured."""

    server_core: float
    load_core: float
    server: float
    load: float

    def __sub__(self, before: "_Moment") -> "_Moment":
        """Return what was used since."""
        return _Moment(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))

    def strangers(self, *, together: bool) -> tuple[float, float]:
        """Return what nobody of those measured used of the processor for servers and of that for the load."""
        at_server, at_load = self.server_core - self.server, self.load_core - self.load
        if together:
            # Where they share processors, nobody can say on which of them a stranger was.
            at_server = at_load = at_server + at_load
        return max(0.0, at_server), max(0.0, at_load)


def check() -> None:
    """Raise WrkMissing when wrk is."""
    if shutil.which("wrk") is None:
        raise WrkMissing("wrk makes the load and is missing; on Debian: apt-get install wrk")


def run(case: Case, seconds: float, cores: Cores, postmaster: int | None = None) -> Run:
    """Put a case under load; `postmaster` is the PostgreSQL server's process, which shares the load's processor."""
    os.sched_setaffinity(0, {cores.load})
    if postmaster is not None:
        machine.place(postmaster, cores.load)
    if case.renew is not None:
        case.renew(round(seconds * RENEWED))
    machine.forget_peak(case.server.pid)
    before = _moment(case, cores, postmaster)
    with _beside(case, seconds):
        said = _wrk(case, seconds)
    used = _moment(case, cores, postmaster) - before
    at_server, at_load = used.strangers(together=len(case.server.cores) > 1 or cores.server == cores.load)
    took = said["duration"] / 1e6
    return Run(
        rate=said["requests"] / took,
        p50=said["p50"] / 1000,
        p99=said["p99"] / 1000,
        failures=said["refused"] + said["broken"],
        memory=machine.peak_memory(case.server.pid),
        cost=used.server / max(said["requests"], 1) * 1e6,
        strangers_at_server=at_server / took,
        strangers_at_load=at_load / took,
    )


@contextmanager
def _beside(case: Case, seconds: float) -> Iterator[None]:
    """Ask meanwhile what the case says; it has begun when its first answers must be under way."""
    if case.beside is None:
        yield
        return
    with subprocess.Popen(_command(case.beside, seconds + 2, BESIDE), stdout=subprocess.DEVNULL) as process:
        time.sleep(1)
        yield
        process.wait()


def _wrk(case: Case, seconds: float) -> dict[str, int]:
    done = subprocess.run(_command(case, seconds, CONNECTIONS), text=True, check=True, capture_output=True)
    said: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return said


def _command(case: Case, seconds: float, connections: int) -> list[str]:
    headers = [word for name, value in case.headers.items() for word in ("-H", f"{name}: {value}")]
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "30s"]
    presented = ["own sessions"] if case.presents_sessions else case.presented
    return [*command, "-s", str(_SCRIPT), *headers, case.url, "--", case.body or "", *presented]


def _moment(case: Case, cores: Cores, postmaster: int | None) -> _Moment:
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    load = sum(usage.ru_utime + usage.ru_stime for usage in own)
    if postmaster is not None:
        load += machine.spent_seconds(postmaster)
    servers = case.server.cores or (cores.server,)
    return _Moment(
        server_core=sum(map(machine.busy_seconds, servers)),
        load_core=0.0 if cores.load in servers else machine.busy_seconds(cores.load),
        server=machine.spent_seconds(case.server.pid),
        load=load,
    )
