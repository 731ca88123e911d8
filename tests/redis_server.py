"""A private Valkey or Redis for the tests: started from the installed program, on a Unix socket, thrown away after."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("redis-server", "valkey-server")
TIMEOUT = 10.0
"""Seconds for the server to answer."""


class RedisServer:
    """A server that keeps nothing on disk."""

    def __init__(self) -> None:
        # The path of a Unix socket is short by law, and a test's own folder is not.
        self._directory = Path(tempfile.mkdtemp(prefix="gatewright-redis-"))
        self._socket = self._directory / "socket"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address for `limits.store`."""
        return f"unix://{self._socket}?db=0"

    def start(self) -> None:
        """Start, and wait for the first answer. Raises RuntimeError when there is no program, or no answer."""
        options = [
            "--port",
            "0",
            "--unixsocket",
            str(self._socket),
            "--save",
            "",
            "--dir",
            str(self._directory),
        ]
        self._process = subprocess.Popen(
            [program(), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + TIMEOUT
        while self._ask(b"PING\r\n") != b"+PONG\r\n":
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("the server for counters did not start")

    def empty(self) -> None:
        """Forget everything."""
        assert self._ask(b"FLUSHALL\r\n") == b"+OK\r\n"

    def halt(self) -> None:
        """End the server at once, as a crash would; it forgets everything."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        self._socket.unlink(missing_ok=True)

    def stop(self) -> None:
        """End the server, and remove its folder."""
        self.halt()
        shutil.rmtree(self._directory)

    def _ask(self, command: bytes) -> bytes:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(TIMEOUT)
                connection.connect(str(self._socket))
                connection.sendall(command)
                return connection.recv(64)
        except OSError:
            return b""


def program() -> str:
    """Find the program of the server. Raises RuntimeError."""
    for name in PROGRAMS:
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError(
        "the tests need the program of a Redis or Valkey server on PATH (on Debian: apt install redis-server)"
    )
