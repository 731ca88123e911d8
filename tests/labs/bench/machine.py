"""What the system says of processors and processes: Linux, /proc and affinities."""

import os
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Cores:
    """Which processor the servers run on, one at a time, and which everything else."""

    server: int
    load: int

    @property
    def for_all(self) -> "Cores":
        """Return the processor of the servers for everything."""
        return Cores(self.server, self.server)


def choose_cores() -> Cores:
    """Choose the first and the last processor this process may use; with a single one, load and server share it."""
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[-1])


def busy_seconds(core: int) -> float:
    """Return the seconds in which a processor did anything for anybody since the system started, steal included."""
    for line in (_PROC / "stat").read_text().splitlines():
        name, *fields = line.split()
        if name == f"cpu{core}":
            user, nice, system, _, _, irq, soft_irq, steal, *_ = map(int, fields)
            return (user + nice + system + irq + soft_irq + steal) / _TICKS
    raise RuntimeError(f"there is no processor {core}")


def spent_seconds(pid: int) -> float:
    """Return the processor time of a process and of all that descend from it, those that have ended included."""
    return sum(sum(map(int, _stat(each)[11:15])) for each in _family(pid)) / _TICKS


def spent_nanoseconds(pid: int) -> int:
    """Return the processor time of a process and of its children that live, more exactly than `spent_seconds`."""
    # The kernel's clock of another process, as clock_getcpuclockid(3) names it.
    return sum(time.clock_gettime_ns(~each << 3 | 2) for each in _family(pid))


def place(pid: int, core: int) -> None:
    """Pin a process and all that descend from it to one processor."""
    _place(pid, {core})


@contextmanager
def sharing(*pids: int) -> Iterator[None]:
    """Pin processes, and all that descend from them, to the last processor that this one may use."""
    usable = os.sched_getaffinity(0)
    try:
        for pid in pids:
            _place(pid, {max(usable)})
        yield
    finally:
        for pid in pids:
            _place(pid, usable)


def _place(pid: int, cores: Set[int]) -> None:
    for each in _family(pid):
        with suppress(ProcessLookupError):
            os.sched_setaffinity(each, cores)


def parent(pid: int) -> int:
    """Return the process that started a process."""
    return int(_stat(pid)[1])


def peak_memory(pid: int) -> float:
    """Return the most memory that a process and its descendants have held since `forget_peak`, in MB."""
    return sum(_kibibytes(each, "VmHWM") for each in _family(pid)) / 1024


def memory(pid: int) -> float:
    """Return the memory that a process holds, in MB; 0 if it has ended."""
    return _kibibytes(pid, "VmRSS") / 1024


def forget_peak(pid: int) -> None:
    """Begin a new peak for `peak_memory`."""
    for each in _family(pid):
        (_PROC / str(each) / "clear_refs").write_text("5")


def _kibibytes(pid: int, name: str) -> int:
    for line in _read(pid, "status").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def _stat(pid: int) -> list[str]:
    """Return the fields of a process from its state on; its name before them may hold spaces and brackets."""
    return _read(pid, "stat").rpartition(")")[2].split()


def _family(pid: int) -> Iterator[int]:
    yield pid
    for child in _read(pid, f"task/{pid}/children").split():
        yield from _family(int(child))


def _read(pid: int, name: str) -> str:
    """Read what the system says of a process; nothing of one that has ended meanwhile."""
    try:
        return (_PROC / str(pid) / name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
