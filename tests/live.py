"""The service as a process of its own, started as an operator would, on a free port of the loopback."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
from typing import IO

from tests.service import CHEAP

ROOT = Path(__file__).parent.parent
PATIENCE = 120.0
"""Seconds for the service to start, or to print what is waited for."""


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

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Give the last match of a pattern over all lines. Raises AssertionError with all of them if it never comes."""
        wanted = re.compile(pattern, re.DOTALL | re.MULTILINE)
        found: list[re.Match[str]] = []

        def look() -> bool:
            found[:] = wanted.finditer("".join(self.lines))
            return bool(found)

        with self.grown:
            assert self.grown.wait_for(look, PATIENCE), "".join(self.lines)
        return found[-1]


@dataclass(frozen=True, slots=True)
class LiveService:
    """A running process, the origin it serves, and what it prints."""

    url: str
    process: "subprocess.Popen[bytes]"
    output: Output


@contextmanager
def serving(
    directory: Path, overrides: Mapping[str, str], *, port: int = 0, workers: int = 1
) -> Iterator[LiveService]:
    """Run `gatewright serve` in `directory`; `overrides` are settings such as `mail.sender`. Ends it afterwards.

    It takes a free port unless one is named, which must be free.
    """
    named = {"GATEWRIGHT_" + name.upper().replace(".", "__"): value for name, value in overrides.items()}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEWRIGHT_")}
    process = subprocess.Popen(
        [
            Path(sys.executable).with_name("gatewright"),
            "serve",
            "--port",
            str(port),
            "--workers",
            str(workers),
        ],
        cwd=directory,
        env={**inherited, **CHEAP, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **named},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = Output()
    reader = Thread(target=output.read, args=(process.stdout,))
    reader.start()
    try:
        started = output.wait_for(r"^\{.*\"service\.started\".*\}$")
        yield LiveService(f"http://{json.loads(started[0].splitlines()[-1])['address']}", process, output)
    finally:
        process.terminate()
        process.wait(timeout=60)
        reader.join()
        process.stdout.close()
