"""Several processes: each serves as one alone does, one that hangs is replaced, and none goes on unwatched."""

import json
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from tests.faults.requests_in_flight import until_refused
from tests.live import PATIENCE, LiveService, environment, serving

PROGRAM = """
import signal, sys, time
from pathlib import Path

from server.observability import logs
from server.http import supervisor
from server.http.server import STARTUP_FAILURE, Config

{work}

if __name__ == "__main__":
    logs.configure("info", "json")
    supervisor.serve(Config("", port=0, workers=1, log_config=None), work, silence={silence})
"""

HANGING = """
def work(config, listener, signs, counts):
    '''The first to come serves and then hangs, whoever comes in its place cannot start.'''
    try:
        Path("served").touch(exist_ok=False)
    except FileExistsError:
        sys.exit(STARTUP_FAILURE)
    signs.send(b".")
    time.sleep(300)
"""

CRASHING = """
def work(config, listener, signs, counts):
    '''The first two to come crash before they serve, the third cannot start.'''
    with Path("starts").open("a+") as starts:
        print(time.monotonic(), file=starts, flush=True)
        starts.seek(0)
        sys.exit(STARTUP_FAILURE if len(starts.readlines()) == 3 else 1)
"""

LEAVING = """
def work(config, listener, signs, counts):
    '''The first to come has connections and crashes, the second notes what stands in its place and cannot start.'''
    try:
        Path("served").touch(exist_ok=False)
    except FileExistsError:
        Path("counts").write_text(str(list(counts._counts)))
        sys.exit(STARTUP_FAILURE)
    counts.publish(7)
    signs.send(b".")
    sys.exit(1)
"""


def supervise(folder: Path, work: str, silence: float) -> subprocess.CompletedProcess[str]:
    """Run a program that watches over one process with such work, until it ends by itself."""
    program = folder / "program.py"
    program.write_text(PROGRAM.format(work=work, silence=silence), "utf-8")
    return subprocess.run(
        [sys.executable, program],
        cwd=folder,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def pids(live: LiveService, number: int) -> set[int]:
    """Give the ids of the processes that serve, once there are so many."""
    live.output.wait_for('"pid":.*' * number)
    return {
        int(pid) for pid in re.findall(r"\"service\.started\".*\"pid\":(\d+)", "".join(live.output.lines))
    }


def test_what_one_that_has_ended_had_counts_no_longer(tmp_path: Path) -> None:
    """Others would leave newcomers to it until another one is in its place."""
    supervise(tmp_path, LEAVING, silence=20)

    [count] = json.loads((tmp_path / "counts").read_text())
    assert count > 1_000_000


async def test_each_ends_when_nobody_watches(tmp_path: Path) -> None:
    with serving(tmp_path, {}, workers=2) as live:
        pids(live, 2)

        live.process.kill()

        await until_refused(live.url)


def test_one_that_hangs_is_replaced_and_one_that_cannot_start_ends_all(tmp_path: Path) -> None:
    done = supervise(tmp_path, HANGING, silence=0.5)

    told = [json.loads(line) for line in done.stderr.splitlines()]
    events = [line["event"] for line in told if line["event"].startswith("service.")]
    assert events == [
        "service.started", "service.process_hangs", "service.process_ended", "service.stopped",
    ]  # fmt: skip
    assert next(line["status"] for line in told if "status" in line) == -signal.SIGKILL
    assert done.returncode == 3


def test_one_that_crashes_before_it_serves_is_started_again_after_a_pause(tmp_path: Path) -> None:
    """A tenth of the silence that is borne: two seconds, which no start of so small a program takes."""
    done = supervise(tmp_path, CRASHING, silence=20)

    starts = [float(line) for line in (tmp_path / "starts").read_text().splitlines()]
    assert [later - before >= 2 for before, later in pairwise(starts)] == [True, True]
    assert done.returncode == 3
