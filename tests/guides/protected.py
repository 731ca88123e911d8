"""Applications of the guides, each running beside a Gatewright with a wire between the two."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import blocks, commands, guide, placed, surroundings, typed, write_files
from tests.guides.relay import Relay
from tests.labs.sdk.test_sdks import generate
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD

ADA, BOB = "ada@example.com", "bob@example.com"
GATEWRIGHT, APPLICATION = "http://localhost:8000", "3000"
"""What the guides call the two places."""

TIMEOUT = 60.0
"""Seconds for an application to start."""

PATIENT = httpx.Timeout(60.0)

SETTINGS = {
    # What an application names as the visitor's address is believed, and no other.
    "trusted_proxies": '["127.0.0.1/32"]',
    "limits.requests": "50",
    # Every look-up extends the session, and so sets the cookie anew.
    "session.update_age": "0s",
    # A client that keeps cookies would show this one again, over http as well.
    "session.cookie_secure": "false",
}


@dataclass(frozen=True, slots=True)
class Application:
    """A running application, the Gatewright it asks, and the wire between the two."""

    url: str
    guide: str
    """The text it is made of."""
    live: LiveService
    caller: httpx.Client
    """Who asks Gatewright itself."""
    relay: Relay
    directory: Path
    """Where Gatewright lives."""
    printed: Path
    """What the application has printed so far."""

    def execute(self, statement: str, *values: object) -> None:
        """Change Gatewright's database, as its operator or as time would."""
        with closing(sqlite3.connect(self.directory / "gatewright.db", timeout=30)) as database, database:
            database.execute(statement, values)

    def post(self, path: str, body: dict[str, object], token: str = "") -> httpx.Response:
        """Ask Gatewright itself."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.caller.post(path, json=body, headers=headers)

    def sign_in(self, email: str = ADA) -> str:
        """Sign a user in at Gatewright; give the token."""
        answer = self.post("/sign-in/email", {"email": email, "password": PASSWORD})
        return str(answer.json()["token"])


@contextmanager
def protecting(
    text: str, place: Path, directory: Path, serve: str | None = None, **variables: str
) -> Iterator[Application]:
    """Run the application of a guide beside a Gatewright, which lives in `directory`, with the users Ada and Bob.

    The files of the application lie in `place`. The command that serves is the one with this title unless it is given.
    """
    port = free_port()
    with serving(directory, SETTINGS) as live, calling(live) as caller, closing(Relay(live.url)) as relay:
        command = placed(serve or commands(text, "serve"), {GATEWRIGHT: relay.url, APPLICATION: str(port)})
        printed = directory / "printed.txt"
        with running(command, place, port, printed, **variables):
            url = f"http://127.0.0.1:{port}"
            application = Application(url, text, live, caller, relay, directory, printed)
            for email in (ADA, BOB):
                name = email.partition("@")[0].title()
                application.post("/sign-up/email", {"name": name, "email": email, "password": PASSWORD})
            yield application


def calling(live: LiveService) -> httpx.Client:
    """Return a client of Gatewright, which is to be closed: it keeps connections."""
    return httpx.Client(base_url=live.url, timeout=PATIENT, verify=False, trust_env=False)


@contextmanager
def in_python(name: str, places: pytest.TempPathFactory) -> Iterator[Application]:
    """Follow the guide for a framework of Python, and run its application."""
    place, text = places.mktemp(name), guide(f"protect-{name}")
    for block in blocks(text, "sh"):
        if block.title == "start":
            typed(block.text, place)
    write_files(text, place)
    with protecting(
        text, place, places.mktemp("gatewright"), PYTHONPATH=str(generate("python"))
    ) as application:
        yield application


@contextmanager
def running(command: str, place: Path, port: int, printed: Path, **variables: str) -> Iterator[None]:
    """Run a command that serves on a port until the end of the block; what it prints goes into a file."""
    with printed.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=place, env=surroundings(variables), stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + TIMEOUT
        while not answers(port):
            assert process.poll() is None, printed.read_text("utf-8")
            assert time.monotonic() < deadline, printed.read_text("utf-8")
            time.sleep(0.1)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def answers(port: int) -> bool:
    """Return whether something serves HTTP there."""
    try:
        httpx.get(f"http://localhost:{port}/", timeout=PATIENT, verify=False, trust_env=False)
    except httpx.TransportError:
        return False
    return True
