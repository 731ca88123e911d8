"""A real HAProxy between a test and instances of the service: each request goes to the next one, healthy ones only."""

import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INSTANCE = "x-instance"
"""The header by which the balancer says which instance has answered."""

_CONFIGURATION = """
global
    nbthread 1
defaults
    mode http
    option forwardfor
    # The instance closes a connection that is idle for 5 s, possibly just when the next request is sent on it.
    option http-server-close
    # Retry on another instance if there was no response; after the request was sent, only for GET requests.
    retries 3
    option redispatch 1
    retry-on conn-failure empty-response
    timeout connect 10s
    timeout client 120s
    timeout server 120s
    timeout check 30s
frontend public
    bind fd@{listener}
    default_backend instances
    http-request disable-l7-retry if !METH_GET
backend instances
    balance roundrobin
    option httpchk GET /ready
    http-check expect status 200
    http-response set-header {header} %s
    default-server check inter 500ms fall 2 rise 1
{servers}
"""


def names(count: int) -> list[str]:
    """Return what the balancer calls so many instances, in their order."""
    return [f"instance-{number}" for number in range(1, count + 1)]


@dataclass(frozen=True, slots=True)
class Listener:
    """The place of a balancer that is yet to start: its address has to be known to the instances behind it."""

    socket: socket.socket

    @property
    def url(self) -> str:
        """The origin that clients ask."""
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"


@contextmanager
def listening() -> Iterator[Listener]:
    """Take a free port; who connects waits until the balancer has started."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Listener(listener)


@contextmanager
def balancing(directory: Path, listener: Listener, instances: Sequence[str]) -> Iterator[None]:
    """Run HAProxy before the instances at these addresses (`http://127.0.0.1:8001`), and end it afterwards."""
    servers = "\n".join(
        f"    server {name} {url.removeprefix('http://')}"
        for name, url in zip(names(len(instances)), instances, strict=True)
    )
    file = directory / "haproxy.cfg"
    number = listener.socket.fileno()
    file.write_text(_CONFIGURATION.format(listener=number, header=INSTANCE, servers=servers), "utf-8")
    with (directory / "haproxy.log").open("wb") as log:
        process = subprocess.Popen(
            [_program(), "-db", "-f", file],
            pass_fds=[number], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _program() -> str:
    # Debian puts it where only the administrator's PATH leads.
    found = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise RuntimeError("the tests need HAProxy (on Debian: apt install haproxy)")
    return found
