"""The service as a process of its own, started as an operator would, on a free port of the loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

from tests.service import CHEAP

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class LiveService:
    """A running process, the origin it serves, and the file its standard output and error go to."""

    url: str
    process: subprocess.Popen[bytes]
    output: Path


@contextmanager
def serving(directory: Path, overrides: Mapping[str, str]) -> Iterator[LiveService]:
    """Run `gatewright serve` in `directory`; `overrides` are settings such as `mail.sender`. Ends it afterwards."""
    named = {"GATEWRIGHT_" + name.upper().replace(".", "__"): value for name, value in overrides.items()}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEWRIGHT_")}
    environ = {**inherited, **CHEAP, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **named}
    output = directory / "output.log"
    process = subprocess.Popen(
        [Path(sys.executable).with_name("gatewright"), "serve", "--port", "0"],
        cwd=directory,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    # Somebody must go on reading, or the service would wait for room in the pipe.
    reader = Thread(target=_keep, args=(process.stdout, output), daemon=True)
    try:
        address = _started(process.stdout)
        reader.start()
        yield LiveService(f"http://{address}", process, output)
    finally:
        process.terminate()
        process.wait(timeout=60)
        if reader.is_alive():
            reader.join()
        process.stdout.close()


def _started(said: IO[bytes]) -> str:
    """Give the address the service listens on. Raises AssertionError with what it said when it does not start."""
    lines: list[bytes] = []
    for line in said:
        lines.append(line)
        if b'"service.started"' in line:
            return str(json.loads(line)["address"])
    raise AssertionError(b"".join(lines).decode())


def _keep(said: IO[bytes], output: Path) -> None:
    with output.open("wb", buffering=0) as file:
        for line in said:
            file.write(line)
