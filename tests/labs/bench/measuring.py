"""Round by round: every server gets its turn at a case before any gets the next, so that noise hits all alike."""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.labs.bench import hashes, load
from tests.labs.bench.cases import BESIDE_BARE, BESIDE_OWN, CONSTANT, SIGNING, Case
from tests.labs.bench.load import Run
from tests.labs.bench.machine import Cores
from tests.labs.bench.servers import MANY_KEYS, OURS, TWO_WORKERS, Server, settle

ATTEMPTS = 3
"""How often a run is made before a disturbed one has to do."""

WARM_UP = 3.0
"""Seconds of load before the first run of a case; a just-in-time compiler wants them."""


@dataclass(frozen=True, slots=True)
class Result:
    """A case and its runs."""

    case: Case
    runs: list[Run] = field(default_factory=list)
    yardsticks: list[float] = field(default_factory=list)
    """What the case is compared with, measured just before each run, for a machine may be twice as fast a minute later:
    the bare application's answers per second for get-session and pages, passwords hashed per second for sign-in and
    sign-up, what one worker answers for two."""

    def median(self, figure: str) -> float:
        """Return the median of a figure of `Run`."""
        figures: list[float] = [getattr(run, figure) for run in self.runs]
        return statistics.median(figures)

    def share(self) -> float | None:
        """Return the median of what each run reached of its yardstick; None where there is none."""
        if not self.yardsticks:
            return None
        pairs = zip(self.runs, self.yardsticks, strict=True)
        return statistics.median(run.rate / yardstick for run, yardstick in pairs)

    @property
    def failures(self) -> int:
        """Failures of all runs together."""
        return sum(run.failures for run in self.runs)

    @property
    def is_noisy(self) -> bool:
        """Return whether any run that counts was disturbed."""
        return any(run.is_noisy for run in self.runs)


@dataclass(slots=True)
class Rounds:
    """How to measure; `postmaster` is the process of the PostgreSQL server, if there is one."""

    seconds: float
    repeats: int
    cores: Cores
    postmaster: int | None = None
    hashes: list[float] = field(default_factory=list)
    """Passwords per second that the servers' processor hashed by itself, before each run in which somebody signs in."""
    hashes_of_two: list[float] = field(default_factory=list)
    """The same of both processors at once, before each run of a second worker."""
    _servers: Sequence[Server] = ()

    def measure(self, cases: Sequence[Case]) -> list[Result]:
        """Try every case out, warm it up, and run it as often as wanted, interleaved; all servers are running."""
        self._servers = list({case.server.name: case.server for case in cases}.values())
        results = [Result(case) for case in cases]
        for case in cases:
            print(f"  warm-up  {case.name:26} {case.server.name}", file=sys.stderr)
            case.try_out()
            load.run(case, WARM_UP, self.cores, self.postmaster)
        for number in range(1, self.repeats + 1):
            for result in results:
                # Two workers are measured with the load beside the first of them, and so is the one before them.
                cores = self.cores.for_all if result.case.server.name in TWO_WORKERS else self.cores
                result.yardsticks.extend(self._yardstick(result.case, cases, cores))
                result.runs.append(self._run(result.case, f"{number}/{self.repeats}", cores))
        return results

    def _yardstick(self, case: Case, cases: Sequence[Case], cores: Cores) -> list[float]:
        """Measure what bounds a case of ours, if anything does; the load is where it will be."""
        if case.server.name in OURS and case.name in SIGNING:
            settle(self._servers)
            self.hashes.append(hashes.per_second(cores.server))
            return self.hashes[-1:]
        if case.server.name in TWO_WORKERS:
            settle(self._servers)
            self.hashes_of_two.append(hashes.per_second(*case.server.cores))
        return [self._run(other, "beside", cores).rate for other in cases if _bounds(other, case)]

    def _run(self, case: Case, label: str, cores: Cores) -> Run:
        for _ in range(ATTEMPTS):
            settle(self._servers)
            run = load.run(case, self.seconds, cores, self.postmaster)
            _tell(case, run, label)
            if not run.is_noisy:
                break
        return run


def _bounds(other: Case, case: Case) -> bool:
    """Return whether a case is the yardstick of another: the constant of get-session and pages, one worker of two."""
    if case.server.name in TWO_WORKERS:
        return other.name == case.name and other.server.name == TWO_WORKERS[case.server.name]
    if case.server.name in MANY_KEYS:
        return other.name == case.name and other.server.name == MANY_KEYS[case.server.name]
    if case.name in BESIDE_OWN:
        return other.name == BESIDE_OWN[case.name] and other.server.name == case.server.name
    return other.name == CONSTANT and case.name in BESIDE_BARE and case.server.name in OURS


def _tell(case: Case, run: Run, label: str) -> None:
    noise = (
        f", strangers {run.strangers_at_server:.0%} and {run.strangers_at_load:.0%}" if run.is_noisy else ""
    )
    print(
        f"  {label:7}  {case.name:26} {case.server.name:24} {run.rate:9,.0f}/s  p99 {run.p99:8.1f} ms"
        f"  {run.cost:7.0f} µs{noise}",
        file=sys.stderr,
    )
