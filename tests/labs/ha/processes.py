"""Processes of programs that are not ours: started without root's rights, killed, frozen, and ended for certain."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

USER = "postgres" if os.geteuid() == 0 else None
"""PostgreSQL does not run as root."""


@dataclass
class Program:
    """A program that may be started again after its end; its output is appended to `log`."""

    words: Sequence[str]
    directory: Path
    log: Path
    user: str | None = USER
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it in a process group of its own."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.words, cwd=self.directory, user=self.user, group=self.user, process_group=0,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C", "HOME": str(self.directory)},
            )  # fmt: skip

    def pids(self) -> list[int]:
        """Return the process, if it runs."""
        return [self.process.pid] if self.process is not None and self.process.poll() is None else []

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


async def until(holds: Callable[[], Awaitable[object]], what: str, seconds: float) -> None:
    """Return once it holds. Raises RuntimeError when it does not in so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():  # noqa: ASYNC110 - what is waited for happens elsewhere, and wakes nobody
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise RuntimeError(f"waited {seconds:g} s for {what}") from None


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to processes; those that have ended meanwhile are left out."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def postmaster(data: Path) -> int | None:
    """Return the process that a PostgreSQL server in this folder began with, if it runs."""
    with suppress(OSError, ValueError):
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        if Path(f"/proc/{pid}").exists():
            return pid
    return None


def servers(data: Path) -> dict[int, str]:
    """Return the processes of a PostgreSQL server, its first one first, each with its title."""
    first = postmaster(data)
    if first is None:
        return {}
    children = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return {pid: _title(pid) for pid in [first, *(pid for pid in children if _parent(pid) == first)]}


def free_ports(count: int) -> list[int]:
    """Return ports that are free on the loopback."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(listener.getsockname()[1]) for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def program(name: str) -> str:
    """Find a program, also where only the administrator's PATH leads. Raises RuntimeError."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise RuntimeError(f"make test-ha needs {name}: run .ci/ha.sh, which installs it on Debian")
    return found


def _parent(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _title(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""
