"""The single sign-on plugin of Better Auth's published JavaScript client manages connections, unmodified."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from tests import packages
from tests.live import promote, serving
from tests.name_server import HOST, NameServer, name_server_in_thread
from tests.ports import free_port
from tests.service import PASSWORD

HERE = Path(__file__).parent / "official_client"
ADMINISTRATOR = "root@example.com"
RECORD = "_gatewright-acme.acme.example"
TIME_LIMIT = 180.0


@contextmanager
def control(names: NameServer) -> Iterator[str]:
    """Run a server that stores the body of a request as the record of the domain; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            names.texts[RECORD] = [self.rfile.read(length).decode()]
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer((HOST, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("carried_by", ["bearer", "cookie"])
def test_every_call_works(migrated_url: str, tmp_path: Path, carried_by: str) -> None:
    port = free_port()
    settings = {
        "database_url": migrated_url,
        "sso.enabled": "true",
        "sso.resolvers": json.dumps([f"{HOST}:{port}"]),
        "limits.requests": "0",
    }
    scripts = packages.better_auth(HERE)
    with (
        name_server_in_thread(port) as names,
        control(names) as url,
        serving(tmp_path, settings) as live,
    ):
        body = {"name": "Root", "email": ADMINISTRATOR, "password": PASSWORD}
        assert httpx.post(f"{live.url}/sign-up/email", json=body).status_code == 200
        promote(ADMINISTRATOR, tmp_path, settings)
        environment = {
            **os.environ,
            "SERVICE_ROOT": live.url,
            "CARRIED_BY": carried_by,
            "ADMIN_EMAIL": ADMINISTRATOR,
            "DNS_CONTROL": url,
            "MAIL_FILE": str(tmp_path / "mail.jsonl"),
        }
        run = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "sso.test.mjs"],
            check=False, cwd=scripts, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
        )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    assert live.output.faults() == []
