"""Servers under measurement: started as a user would start them, on one processor, ended by their own id."""

import http.client
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.labs.bench import machine
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
_BIN = Path(sys.executable).parent

TIMEOUT = 60.0
"""Seconds a server has for its first answer, or to become quiet."""

_GLANCE = 0.25
"""Seconds over which is watched whether the servers are quiet."""

_QUIET = 0.05
"""The share of a processor that quiet servers use at most, together."""


class ServerFailed(Exception):
    """A server did not come up; the message ends with what it said."""


VERIFIER = "v" * 40
"""The token with which API keys are verified."""

OURS = ("Gatewright, SQLite", "Gatewright, PostgreSQL")
"""The servers that are compared with all others."""

TWO_WORKERS = {f"{name}, 2 workers": name for name in OURS}
"""Those with two processes, and with whom each is compared."""

MANY_KEYS = {f"{name}, 1,000 retired keys": name for name in OURS}
"""Those that publish many keys, and with whom each is compared."""


BY_MAIL = {f"{name}, mail": name for name in OURS}
"""Those that sign in by mail, and with whom each is compared."""

SECRET = "measured-on-the-loopback-interface-and-nowhere-else"
"""The secret of a server that signs in by mail: codes are stored for it that it would accept."""


@dataclass
class Server:
    """One server: how to start it, and what was seen of it."""

    name: str
    command: list[str]
    port: int
    log: Path
    base_path: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path = ROOT
    ready: str = "/ok"
    """What it answers with 200 as soon as it is up."""
    patience: float = TIMEOUT
    """Seconds it has for that."""
    cores: tuple[int, ...] = ()
    """The processors it may use; where nothing is said the one for servers."""
    start_times: list[float] = field(default_factory=list)
    """Seconds from each start to the first answer, on a filled database."""
    first_start: float = 0.0
    """Seconds from the start to the first answer on an empty database, which gets its schema."""
    memory_at_start: float = 0.0
    """MB at the first answer."""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address that the operations lie under."""
        return f"http://127.0.0.1:{self.port}{self.base_path}"

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self, core: int) -> None:
        """Start on one processor and wait for the first answer. Raises ServerFailed."""
        cores = ",".join(map(str, self.cores or (core,)))
        begun = time.perf_counter()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                ["taskset", "-c", cores, *self.command], cwd=self.directory, start_new_session=True,
                env={**_clean_environment(), **self.environment}, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        while not self._answers():
            if self._process.poll() is not None or time.perf_counter() - begun > self.patience:
                self.stop()
                raise ServerFailed(
                    f"{self.name} did not start: {self.log.read_text('utf-8', 'replace')[-2000:]}"
                )
            time.sleep(0.002)
        self.start_times.append(time.perf_counter() - begun)
        self.memory_at_start = machine.peak_memory(self.pid)

    def stop(self) -> None:
        """Ask the server to end, and make it end if it does not."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def promote(self, email: str) -> None:
        """Make a user of the service an administrator."""
        command = [self.command[0], "users", "promote", email]
        environment = {**_clean_environment(), **self.environment}
        subprocess.run(command, cwd=self.directory, env=environment, check=True, capture_output=True)

    def start_time(self) -> float:
        """Return the median of the seconds to the first answer."""
        return statistics.median(self.start_times)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", self.base_path + self.ready)
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def settle(servers: Sequence[Server]) -> None:
    """Wait until what the last load left behind, hashes for who has gone above all, has been worked off everywhere."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        before = sum(machine.spent_seconds(each.pid) for each in servers)
        time.sleep(_GLANCE)
        if sum(machine.spent_seconds(each.pid) for each in servers) - before <= _QUIET * _GLANCE:
            return


def bare(directory: Path) -> Server:
    """Return the bare ASGI application on uvicorn as it comes."""
    port = free_port()
    options = "--loop uvloop --http httptools --no-access-log --log-level warning --host 127.0.0.1 --port"
    command = [str(_BIN / "uvicorn"), "tests.labs.bench.bare:application", *options.split(), str(port)]
    return Server("bare ASGI", command, port, directory / "bare.log")


def gatewright(
    name: str,
    database_url: str,
    directory: Path,
    *,
    workers: int = 1,
    cores: tuple[int, ...] = (),
    settings: Mapping[str, str] | None = None,
) -> Server:
    """Return the service on a database, with the settings it ships with but for those given."""
    port = free_port()
    folder = directory / name.replace(" ", "-")
    folder.mkdir()
    environment = {
        "GATEWRIGHT_PROFILE": "development",
        "GATEWRIGHT_SERVER__PORT": str(port),
        "GATEWRIGHT_DATABASE_URL": database_url,
        # A load from one address is what limits are there to stop: requests are counted, but never too many. And the
        # peer sends no mail either.
        "GATEWRIGHT_LIMITS__REQUESTS": "1000000000",
        "GATEWRIGHT_SESSION__MAX_PER_USER": "0",
        "GATEWRIGHT_API_KEYS__VERIFIERS": f"bench:{VERIFIER}",
        "GATEWRIGHT_API_KEYS__LIMIT_PER_OWNER": "10000",
        "GATEWRIGHT_API_KEYS__SESSIONS": "true",
        "GATEWRIGHT_MAIL__SENDER": "none",
        # Neither the bare application nor the peers write a line for each request.
        "GATEWRIGHT_LOG__REQUESTS": "false",
        **(settings or {}),
    }
    return Server(
        name,
        [str(_BIN / "gatewright"), "serve", "--workers", str(workers)],
        port,
        folder / "log",
        environment=environment,
        directory=folder,
        cores=cores,
    )


def by_mail(name: str, database_url: str, directory: Path) -> Server:
    """Return the service with links and codes, and without a limit on their emails, which go into a file."""
    settings = {
        "GATEWRIGHT_SECRETS": SECRET,
        "GATEWRIGHT_MAIL__SENDER": "file",
        "GATEWRIGHT_MAIL__FILE_PATH": str(directory / f"{name}.jsonl"),
        "GATEWRIGHT_MAGIC_LINKS__ENABLED": "true",
        "GATEWRIGHT_MAGIC_LINKS__CONFIRM": "false",
        "GATEWRIGHT_EMAIL_CODES__ENABLED": "true",
        "GATEWRIGHT_LIMITS__SIGN_IN_MAIL_BURST": "0",
        "GATEWRIGHT_LIMITS__SIGN_IN_MAIL_DAILY": "0",
    }
    return gatewright(name, database_url, directory, settings=settings)


def _clean_environment() -> dict[str, str]:
    """Return the environment without settings of the service that happen to be set.

    Nor settings of Python for its bytecode: an installation has it, and a start that compiles the program is not warm.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GATEWRIGHT_")
        and name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    }
