"""The port that Prometheus scrapes, of the service as an operator starts it, with one process and with several."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from server.config.sources import ConfigurationError
from server.http.server import metrics_port
from server.services import load_settings
from tests.live import LiveService, serving

TIMEOUT = 120.0
"""Seconds until what was done must be told."""

Scraped = dict[tuple[str, ...], float]


def port_of(live: LiveService) -> str:
    """Return the address of the port."""
    return str(live.output.wait_for(r'"event":"metrics\.started","address":"([^"]+)"')[1])


def scrape(address: str) -> Scraped:
    """Return all values by name and the values of the labels, in the order of their names."""
    text = httpx.get(f"http://{address}/metrics", timeout=TIMEOUT).text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape_until(address: str, holds: Callable[[Scraped], bool]) -> Scraped:
    """Scrape until something holds. On a busy machine the port may end a connection before it has read the request."""
    deadline = time.monotonic() + TIMEOUT
    found: Scraped = {}
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            found = scrape(address)
            if holds(found):
                return found
        time.sleep(0.05)
    pytest.fail(f"{found}")


REQUESTS = ("gatewright_requests_total", "sessions.get_current", "401")


def test_one_process_tells_what_it_counted_to_those_who_ask(tmp_path: Path) -> None:
    with serving(tmp_path, {"metrics.port": "0"}) as live, contextlib.ExitStack() as silent:
        for _ in range(3):
            httpx.get(f"{live.url}/get-session", timeout=TIMEOUT)
        address = port_of(live)
        scrape_until(address, lambda found: found.get(REQUESTS) == 3)
        status = Path(f"/proc/{live.process.pid}/status")
        before = threads(status)
        host, port = address.rsplit(":", 1)
        for _ in range(4):
            silent.enter_context(socket.create_connection((host, int(port))))

        found = scrape(address)

        # Those who connect and say nothing take no thread each; the process may start others meanwhile.
        assert threads(status) < before + 4

    assert found["gatewright_workers",] == 1
    assert found["gatewright_database_up",] == 1
    assert found["gatewright_request_seconds_count", "sessions.get_current"] == 3
    assert found["gatewright_process_memory_bytes",] > 1_000_000
    assert ("gatewright_build_info", version("gatewright")) in found


def threads(status: Path) -> int:
    """Return the number of threads that a process has."""
    lines = status.read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("Threads:")).split()[1])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a port behind which no process answers."""
    folder = tmp_path_factory.mktemp("metrics")
    settings = load_settings({"GATEWRIGHT_PROFILE": "development", "GATEWRIGHT_METRICS__PORT": "0"}, folder)
    with contextlib.ExitStack() as stack:
        with capture_logs() as logs:
            stack.enter_context(metrics_port(settings))
        yield logs[0]["address"]


class TestWhatIsAsked:
    """One path, one method, and nothing said of what program answers."""

    @pytest.mark.parametrize(
        "path", ["/", "/metrics/", "/metrics/x", "/favicon.ico", "/METRICS", "/metricsx", "/?/metrics"]
    )
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_another_path_is_not_found(self, port: str, method: str, path: str) -> None:
        answer = httpx.request(method, f"http://{port}{path}", timeout=TIMEOUT)

        assert (answer.status_code, answer.text) == (404, "404 Not Found\n")

    @pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
    def test_another_method_is_told_which_there_are(self, port: str, method: str) -> None:
        answer = httpx.request(method, f"http://{port}/metrics", timeout=TIMEOUT)

        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")

    def test_only_the_metrics_are_compressed_and_typed(self, port: str) -> None:
        response = httpx.get(
            f"http://{port}/metrics?x=1", headers={"Accept-Encoding": "gzip"}, timeout=TIMEOUT
        )

        assert response.status_code == 200
        assert response.headers["content-encoding"] == "gzip"
        assert response.headers["content-type"].startswith("text/plain; version=")

    @pytest.mark.parametrize(
        "raw",
        [
            b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /nope HTTP/1.1\r\nHost: a\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET <b> too many words HTTP/1.1\r\n\r\n",
            b"GET /metrics HTTP/<b>\r\n\r\n",
            b"GET /metrics HTTP/2.0\r\n\r\n",
            b"GET /metrics HTTP/1.1\r\n" + b"x: y\r\n" * 200 + b"\r\n",
        ],
    )
    def test_no_answer_names_a_library_or_says_again_what_was_sent(self, port: str, raw: bytes) -> None:
        answer = answer_to(port, raw)

        assert answer
        assert (b"server:" in answer.lower(), b"ython" in answer, b"<b>" in answer) == (False, False, False)

    def test_an_endless_line_is_not_answered(self, port: str) -> None:
        assert answer_to(port, b"GET /" + b"x" * 10_000) == b""


def answer_to(address: str, raw: bytes) -> bytes:
    """Send bytes; give all that comes back until the connection ends."""
    host, number = address.rsplit(":", 1)
    heard = b""
    with (
        contextlib.suppress(ConnectionError),
        socket.create_connection((host, int(number)), timeout=TIMEOUT) as connection,
    ):
        connection.sendall(raw)
        while part := connection.recv(65536):
            heard += part
    return heard


def test_the_counts_of_several_processes_are_added_and_survive_them(tmp_path: Path) -> None:
    with serving(tmp_path, {"metrics.port": "0", "limits.enabled": "false"}, workers=2) as live:
        address = port_of(live)
        scrape_until(address, lambda found: found.get(("gatewright_workers",)) == 2)
        for _ in range(40):
            httpx.get(f"{live.url}/get-session", timeout=TIMEOUT)
        scrape_until(address, lambda found: found.get(REQUESTS) == 40)

        os.kill(_child(live.process.pid), signal.SIGKILL)
        scrape_until(address, lambda found: found.get(("gatewright_workers",), 0) < 2)
        found = scrape_until(address, lambda found: found.get(("gatewright_workers",)) == 2)

    assert found[REQUESTS] == 40


def test_a_taken_port_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        settings = load_settings(
            {"GATEWRIGHT_PROFILE": "development", "GATEWRIGHT_METRICS__PORT": str(taken)}, tmp_path
        )

        with pytest.raises(ConfigurationError) as refused, metrics_port(settings):
            pytest.fail("the port is taken")

    assert str(refused.value) == f"metrics.port: 127.0.0.1:{taken}: Address already in use"


def test_there_is_no_port_unless_one_is_set(tmp_path: Path) -> None:
    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    with metrics_port(settings) as registry:
        assert registry is None


def _child(supervisor: int) -> int:
    """Return the process id of one serving process."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text("ascii").split()
    serving = [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return int(serving[0])
