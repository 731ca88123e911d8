"""Several processes: each serves as one alone does, is replaced when it has ended, and none goes on unwatched."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.labs.faults.places import LONG
from tests.labs.faults.requests_in_flight import until_refused
from tests.live import TIMEOUT, LiveService, environment, serving

FAILING = """
import asyncio, sys
from server.http.workers import Workers
from uvicorn import Config

async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed"})

if __name__ == "__main__":
    config = Config("program:app", port=0, workers=2, lifespan="on", log_config=None)
    workers = Workers(config, [config.bind_socket()])
    workers.run()
    sys.exit(3 if workers.has_failed else 0)
"""


def pids(live: LiveService, number: int) -> list[int]:
    """Return the ids of the processes that have started to serve so far, once there are so many."""
    live.output.wait_for('"pid":.*' * number)
    return [
        int(pid) for pid in re.findall(r"\"service\.started\".*\"pid\":(\d+)", "".join(live.output.lines))
    ]


def test_one_that_has_ended_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, {}, workers=2) as live:
        first, _ = pids(live, 2)

        os.kill(first, signal.SIGKILL)

        assert len(set(pids(live, 4))) == 3  # Its line in the log names it, too.
        assert live.output.wait_for(r'"service\.process_ended","pid":(\d+),"status":-9')[1] == str(first)
        assert httpx.get(f"{live.url}/ok", timeout=TIMEOUT).status_code == 200


@LONG
def test_one_that_hangs_is_replaced(tmp_path: Path) -> None:
    """It has a minute to answer."""
    with serving(tmp_path, {}, workers=2) as live:
        first, _ = pids(live, 2)

        os.kill(first, signal.SIGSTOP)

        assert len(set(pids(live, 4))) == 3


def test_one_that_cannot_start_ends_all(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FAILING, "utf-8")

    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path, env=environment({}), capture_output=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip

    assert done.returncode == 3, done.stderr


async def test_each_ends_when_nobody_watches(tmp_path: Path) -> None:
    with serving(tmp_path, {}, workers=2) as live:
        pids(live, 2)

        live.process.kill()

        await until_refused(live.url)
