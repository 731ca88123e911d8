"""Several processes: each serves as one alone does, one that hangs is replaced, and none goes on unwatched."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.faults.requests_in_flight import until_refused
from tests.live import PATIENCE, LiveService, environment, serving

WORK = """
import signal, sys, time
from pathlib import Path

from server import logs
from server.commands import supervising
from server.http_server import STARTUP_FAILURE, Config

def work(config, listener, signs):
    '''The first to come serves and then hangs, whoever comes in its place cannot start.'''
    try:
        Path("served").touch(exist_ok=False)
    except FileExistsError:
        sys.exit(STARTUP_FAILURE)
    signs.send(b".")
    time.sleep(300)

if __name__ == "__main__":
    logs.configure("info", "json")
    supervising.serve(Config("", port=0, workers=1, log_config=None), work, silence=0.5)
"""


def pids(live: LiveService, number: int) -> set[int]:
    """Give the ids of the processes that serve, once there are so many."""
    live.output.wait_for('"pid":.*' * number)
    return {
        int(pid) for pid in re.findall(r"\"service\.started\".*\"pid\":(\d+)", "".join(live.output.lines))
    }


def watching(pid: int, port: int) -> int:
    """Give by how many numbers a process has the socket that listens on a port."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    [inode] = [line[9] for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "0A"]
    return [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()].count(f"socket:[{inode}]")


async def test_each_takes_in_crowds_as_one_alone_does_and_ends_when_nobody_watches(tmp_path: Path) -> None:
    """Two watch the socket in each: the server of the event loop, and who takes many at a time beside it."""
    with serving(tmp_path, {}, workers=2) as live:
        port = int(live.url.rpartition(":")[2])
        numbers = [watching(pid, port) for pid in pids(live, 2)]

        live.process.kill()

        await until_refused(live.url)
    assert numbers == [2, 2]


def test_one_that_hangs_is_replaced_and_one_that_cannot_start_ends_all(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WORK, "utf-8")

    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    told = [json.loads(line) for line in done.stderr.splitlines()]
    events = [line["event"] for line in told if line["event"].startswith("service.")]
    assert events == [
        "service.started", "service.process_hangs", "service.process_ended", "service.stopped",
    ]  # fmt: skip
    assert next(line["status"] for line in told if "status" in line) == -signal.SIGKILL
    assert done.returncode == 3
