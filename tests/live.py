"""The service as a process of its own, started as an operator would, on a free port of the loopback."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
from typing import IO

import httpx

from tests.service import CHEAP, NEEDED_BY_PROVIDER, PASSWORD, variables

ROOT = Path(__file__).parent.parent
PROGRAM = Path(sys.executable).with_name("gatewright")
NOTHING: Mapping[str, str] = {}
HERE = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "GATEWRIGHT_SERVER__HOST": "127.0.0.1"}
"""What a process needs to run this program at one address only."""
TIMEOUT = 120.0
"""Seconds for the service to start, to respond, or to print what is waited for."""


@dataclass(frozen=True)
class Output:
    """What a process has printed so far, on both streams; whoever waits for something is woken by each line."""

    lines: list[str] = field(default_factory=list)
    grown: Condition = field(default_factory=Condition)

    def read(self, stream: IO[bytes]) -> None:
        """Read until the process ends. Somebody must, or it would wait for room in the pipe."""
        for line in stream:
            with self.grown:
                self.lines.append(line.decode("utf-8", "replace"))
                self.grown.notify_all()

    def wait_for(self, pattern: str, since: int = 0) -> re.Match[str]:
        """Return the last match of a pattern over all lines, or those after the first `since`.

        Raises AssertionError with all lines if none comes.
        """
        wanted = re.compile(pattern, re.DOTALL | re.MULTILINE)
        found: list[re.Match[str]] = []

        def look() -> bool:
            found[:] = wanted.finditer("".join(self.lines[since:]))
            return bool(found)

        with self.grown:
            assert self.grown.wait_for(look, TIMEOUT), "".join(self.lines)
        return found[-1]

    def faults(self) -> list[str]:
        """Return the lines that tell of a defect: those of the level `error`, and those that are no record at all."""
        records = [line for line in self.lines if line.startswith("{")]
        strays = [line for line in self.lines if "Traceback" in line]
        return [*strays, *(line for line in records if json.loads(line)["level"] in ("error", "critical"))]


@dataclass(frozen=True, slots=True)
class LiveService:
    """A running process, the origin it serves, and what it prints."""

    url: str
    process: "subprocess.Popen[bytes]"
    output: Output


def environment(overrides: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment of a process of this program.

    `overrides` are settings such as `mail.sender`; one that is None is not set, even if other tests set it.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEWRIGHT_")}
    given = variables({name: value for name, value in overrides.items() if value is not None})
    unset = variables(dict.fromkeys((name for name, value in overrides.items() if value is None), "")).keys()
    kept = {name: value for name, value in CHEAP.items() if name not in unset}
    without = {} if NEEDED_BY_PROVIDER.isdisjoint(overrides) else variables({"oauth.enabled": "false"})
    return {**inherited, **kept, **without, **HERE, **given}


def launch(
    directory: Path,
    overrides: Mapping[str, str | None],
    *options: str,
    variables: Mapping[str, str] = NOTHING,
    output: IO[bytes] | int = subprocess.PIPE,
    program: Path = PROGRAM,
) -> "subprocess.Popen[bytes]":
    """Start `gatewright serve` in `directory` with these options; the caller reads what it prints, and ends it.

    `variables` are added to its environment. `program` may be another release.
    """
    return subprocess.Popen(
        [program, "serve", *options],
        cwd=directory,
        env={**environment(overrides), **variables},
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
    )


@contextmanager
def serving(
    directory: Path,
    overrides: Mapping[str, str | None],
    *,
    port: int = 0,
    workers: int = 1,
    variables: Mapping[str, str] = NOTHING,
    program: Path = PROGRAM,
) -> Iterator[LiveService]:
    """Run `gatewright serve` in `directory`; `overrides` are settings such as `mail.sender`. Ends it afterwards.

    It takes a free port unless one is named, which must be free. `variables` are added to its environment. `program`
    may be another release.
    """
    options = ("--port", str(port), "--workers", str(workers))
    process = launch(directory, overrides, *options, variables=variables, program=program)
    assert process.stdout is not None
    output = Output()
    reader = Thread(target=output.read, args=(process.stdout,))
    reader.start()
    try:
        started = output.wait_for(r"^\{[^\n]*\"service\.started\"[^\n]*\}$")
        yield LiveService(f"http://{json.loads(started[0])['address']}", process, output)
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        finally:
            # One that does not end is a failure, but of this test alone; nor may its workers go on without it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            reader.join()
            process.stdout.close()


def administrator(base: str, directory: Path) -> str:
    """Sign up a user at the service that runs in `directory`, and make them an administrator; return their address."""
    email = "root@example.com"
    user = {"name": "Root", "email": email, "password": PASSWORD}
    httpx.post(f"{base}/sign-up/email", json=user, timeout=TIMEOUT).raise_for_status()
    promote(email, directory, {})
    return email


def promote(email: str, directory: Path, overrides: Mapping[str, str | None]) -> None:
    """Make a user of the service that runs in `directory` an administrator, as the operator does."""
    words = [str(PROGRAM), "users", "promote", email]
    subprocess.run(words, check=True, cwd=directory, env=environment(overrides), capture_output=True)
