"""A private PgBouncer in transaction mode before the PostgreSQL of the tests, thrown away afterwards."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, make_url

from tests.ports import free_port

TIMEOUT = 60.0
"""Seconds for the pooler to listen."""

_CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 500
; Each transaction gets another connection than the one before: what one leaves behind, another finds.
server_round_robin = 1
"""


@contextmanager
def pooling(database_url: str, *, connections: int) -> Iterator[str]:
    """Yield the address of a database through a pooler that keeps at most so many connections to it."""
    url, port = make_url(database_url), free_port()
    # It refuses to run as root, and PostgreSQL's own user is there where PostgreSQL is.
    user = "postgres" if os.geteuid() == 0 else None
    directory = Path(tempfile.mkdtemp(prefix="gatewright-pgbouncer-"))
    file, log = directory / "pgbouncer.ini", directory / "log"
    text = _CONFIGURATION.format(server=_server(url), port=port, connections=connections)
    file.write_text(text, "utf-8")
    if user is not None:
        shutil.chown(directory, user)
        shutil.chown(file, user)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [_program(), file], user=user, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, port, log)
        yield url.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(directory)


def _server(url: URL) -> str:
    """Return how the pooler reaches the server, in its own words."""
    known = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    return " ".join(f"{name}={value}" for name, value in known.items() if value)


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PgBouncer did not start: {log.read_text('utf-8')}") from None
            time.sleep(0.02)
        else:
            return


def _program() -> str:
    # Debian puts it where only the administrator's PATH leads.
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise RuntimeError("the tests need PgBouncer (on Debian: apt install pgbouncer)")
    return found
