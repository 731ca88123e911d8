"""`make try-social`: one command, and the address where a person begins."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from threading import Thread

import httpx
import pytest

from tests import ports
from tests.live import ROOT, Output

COMMAND = [sys.executable, "-m", "tests.labs.provider.trying"]


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens at."""
    return ports.free_port()


@pytest.fixture
def tried(free_port: int) -> Iterator[tuple["subprocess.Popen[bytes]", Output]]:
    """The command as it runs, and what it prints."""
    process = subprocess.Popen(
        COMMAND,
        cwd=ROOT,
        env={**os.environ, "GATEWRIGHT_SERVER__PORT": str(free_port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    output = Output()
    reader = Thread(target=output.read, args=(process.stdout,))
    reader.start()
    yield process, output
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    reader.join()
    process.stdout.close()


def test_serves_both_until_ctrl_c(tried: tuple["subprocess.Popen[bytes]", Output], free_port: int) -> None:
    process, output = tried
    service = f"http://localhost:{free_port}"
    application = output.wait_for(r"^Open +(\S+)$")[1]

    shown = httpx.get(application, trust_env=False)
    body = {"provider": "test", "loginHint": "ada@example.com"}
    begun = httpx.post(f"{service}/sign-in/social", json=body, trust_env=False)
    led = httpx.get(begun.json()["url"], trust_env=False)
    os.killpg(process.pid, signal.SIGINT)

    assert (shown.status_code, "Sign in through provider" in shown.text) == (200, True)
    assert led.headers["location"].startswith(f"{service}/callback/test?code=")
    assert process.wait(timeout=60) == 0, "".join(output.lines)


def test_does_not_take_another_program_for_the_service() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])

        done = subprocess.run(
            COMMAND,
            cwd=ROOT,
            env={**os.environ, "GATEWRIGHT_SERVER__PORT": port},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(rf"Port {port} is taken.*GATEWRIGHT_SERVER__PORT", done.stderr)
