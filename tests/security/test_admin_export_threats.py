"""Row ADM26 with a service of its own process: clients that hang, go away or lose their session during an export."""

import asyncio
import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from server.database.database import open_database
from tests.handlers.steps import code
from tests.live import TIMEOUT, LiveService, administrator, serving
from tests.service import PASSWORD

ROWS = 40_000
"""More than the buffers of two sockets hold."""

PATH = "/admin/export-audit-events?event=sign_out"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service with many audit events, and an administrator."""
    directory = tmp_path_factory.mktemp("exports")
    with serving(directory, {"database_url": f"sqlite:///{directory / 'gatewright.db'}"}) as service:
        administrator(service.url, directory)
        asyncio.run(_fill(directory))
        yield service


async def _fill(directory: Path) -> None:
    database = await open_database(f"sqlite:///{directory / 'gatewright.db'}", pool_size=3, timeout=30)
    async with database.transaction() as db:
        await db.execute(
            text(
                "INSERT INTO audit (id, time, event, outcome, user_agent, details)"
                " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)"
                " SELECT 'r' || i, :time + i, 'sign_out', 'success', :agent, '{}' FROM n"
            ),
            rows=ROWS,
            time=int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000),
            agent="x" * 512,
        )
        await db.execute(
            text(
                'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, image,'
                " created_at, updated_at)"
                " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)"
                " SELECT 'u' || i, 'Somebody', 'u' || i || '@x.example', 1, 0, 'user', 0, :image, :time, :time FROM n"
            ),
            rows=ROWS,
            time=int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000),
            image="https://x.example/" + "x" * 512,
        )
    await database.close()


@pytest.fixture
def token(live: LiveService) -> str:
    """A session of the administrator."""
    body = {"email": "root@example.com", "password": PASSWORD}
    return str(httpx.post(f"{live.url}/sign-in/email", json=body, timeout=TIMEOUT).json()["token"])


def get(live: LiveService, token: str, path: str = PATH) -> httpx.Response:
    return httpx.get(f"{live.url}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=60)


def begin(live: LiveService, token: str) -> socket.socket:
    """Request an export, and read no more than the beginning of the response."""
    url = httpx.URL(live.url)
    connection = socket.create_connection((url.host, url.port or 80))
    # Less than some segments of the loopback interface (64 KiB each), and each would wait for a timer of 0.2 seconds.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
    head = f"GET {PATH} HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    connection.sendall(head.encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def rest(connection: socket.socket) -> bytes:
    """Read until the other side closes the connection, or the last chunk."""
    received = b""
    connection.settimeout(60)
    while not received.endswith(b"\r\n0\r\n\r\n") and (part := connection.recv(1 << 20)):
        received = received[-16:] + part
    return received


def ended(live: LiveService, since: int) -> dict[str, Any]:
    """Return what the service logged about the end of an export."""
    line = live.output.wait_for(r'^\{[^\n]*"admin\.exported"[^\n]*\}$', since)[0]
    details: dict[str, Any] = json.loads(line)["details"]
    return details


@pytest.mark.threat("ADM26")
class TestExport:
    def test_a_client_that_hangs_or_goes_away_disturbs_nobody(self, live: LiveService, token: str) -> None:
        since = len(live.output.lines)
        hanging = begin(live, token)

        assert code(get(live, token)) == "409 EXPORT_IN_PROGRESS"
        assert get(live, token, "/get-session").status_code == 200
        hanging.close()

        found = ended(live, since)
        assert not found["complete"]
        assert found["rows"] < ROWS
        whole = get(live, token)
        assert whole.status_code == 200
        assert whole.text.count("\r\n") == ROWS + 1

    def test_a_session_that_ends_meanwhile_ends_it(self, live: LiveService, token: str) -> None:
        since = len(live.output.lines)
        export = begin(live, token)
        headers = {"Authorization": f"Bearer {token}"}
        assert (
            httpx.post(f"{live.url}/sign-out", headers=headers, json={}, timeout=TIMEOUT).status_code == 200
        )

        received = rest(export)
        export.close()

        assert not received.endswith(b"\r\n0\r\n\r\n")
        assert not ended(live, since)["complete"]
        live.output.wait_for(r'"http\.response_incomplete".*"reason":"Unauthenticated"', since)
        assert live.output.faults() == []

    def test_memory_does_not_grow_with_the_rows(self, live: LiveService, token: str) -> None:
        status = Path(f"/proc/{live.process.pid}/status")
        if not status.exists():
            pytest.skip("only Linux tells the memory of a process")
        assert get(live, token).status_code == 200
        before = peak(status)

        assert len(get(live, token).content) > 20_000_000

        assert peak(status) - before < 10_000

    @pytest.mark.threat("C13")
    def test_memory_does_not_grow_with_the_users(self, live: LiveService, token: str) -> None:
        status = Path(f"/proc/{live.process.pid}/status")
        if not status.exists():
            pytest.skip("only Linux tells the memory of a process")
        assert get(live, token, "/admin/export-users?search=u1").status_code == 200
        before = peak(status)

        whole = get(live, token, "/admin/export-users")

        assert whole.content.count(b"\r\n") == ROWS + 2
        assert len(whole.content) > 20_000_000
        assert peak(status) - before < 10_000


def peak(status: Path) -> int:
    """Return the most memory that a process has had, in kB."""
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])
