"""The command `gatewright audit`, on a database that the other commands and a service have written to."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import Result

from tests.server.terminal import Run
from tests.service import CHEAP, PASSWORD, Service, close_service, open_service

ADA = "ada@example.com"
UNKNOWN = "nobody@example.com"
YEAR_AGO = datetime.now(UTC) - timedelta(days=360)


@pytest.fixture
def database(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of its own."""
    if dialect == "postgresql":
        return str(request.getfixturevalue("cluster").create(migrated=True))
    return f"sqlite:///{tmp_path / 'gatewright.db'}"


@pytest.fixture
def command_settings(database: str) -> Mapping[str, str]:
    """That database."""
    return CHEAP | {
        "GATEWRIGHT_DATABASE_URL": database,
        "GATEWRIGHT_JWT__ENABLED": "false",
        "GATEWRIGHT_OAUTH__ENABLED": "false",
    }


@pytest.fixture
def ada(run: Run, database: str, tmp_path: Path) -> str:
    """A user with a past: made by the operator, two failed sign-ins, one that worked, a year ago; give the id."""
    made = run("users", "create", ADA, "--username", "ada_l", stdin=f"{PASSWORD}\n")
    asyncio.run(_live(database, tmp_path))
    return made.stdout.split()[-1].rstrip(".")


async def _live(database: str, directory: Path) -> None:
    service = await open_service(
        database,
        directory,
        {"secrets": (directory / "gatewright.secret").read_text().strip(), "jwt.enabled": "false"},
    )
    service.clock.now = YEAR_AGO
    try:
        for email, password in ((ADA, "wrong"), (UNKNOWN, "wrong"), (ADA, PASSWORD)):
            await _sign_in(service, email, password)
    finally:
        await close_service(service)


async def _sign_in(service: Service, email: str, password: str) -> None:
    await service.post(
        "/sign-in/email",
        {"email": email, "password": password},
        headers={"User-Agent": "[bold]a browser"},
    )


def shown(done: Result) -> list[dict[str, Any]]:
    """Return the records that were printed as JSON."""
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


class TestAudit:
    def test_shows_a_table_newest_first_or_json(self, run: Run, ada: str) -> None:
        done = run("audit")

        heading, *lines = done.stdout.splitlines()
        assert heading.split() == [
            "Time", "Event", "Outcome", "Code", "User", "Method", "Address", "Details"
        ]  # fmt: skip
        assert len(lines) == 4
        assert ada in lines[0]
        assert "user.created" in lines[0]
        assert "by=operator" in lines[0]
        assert "hint " in done.stdout
        record = shown(run("audit", "--json", "--event", "sign_in.succeeded"))[0]

        assert (record["user_id"], record["method"], record["details"]) == (ada, "password", {})
        assert record["time"] == f"{YEAR_AGO:%Y-%m-%dT%H:%M:%S}.{YEAR_AGO.microsecond // 1000:03}Z"
        assert record["user_agent"] == "[bold]a browser"

    PICKED: Final = {
        "--event sign_in": ["failed", "failed", "succeeded"],
        "--event sign_in.f": ["failed", "failed"],
        "--event sign%": [],
        "--event sign-in": [],
        "--outcome failure": ["failed", "failed"],
        f"--user {ADA}": ["created", "failed", "succeeded"],
        "--user Ada_L": ["created", "failed", "succeeded"],
        f"--user {UNKNOWN}": ["failed"],
        f"--user {UNKNOWN.upper()}": ["failed"],
        "--user bob@example.com": [],
        "--since 1h": ["created"],
        "--until 1h": ["failed", "failed", "succeeded"],
        "--since 2020-01-01 --until 2020-01-01T12:00+02:00": [],
        "--limit 1": ["created"],
    }

    def test_picks(self, run: Run, ada: str) -> None:
        picked = {
            words: sorted(
                record["event"].rpartition(".")[2] for record in shown(run("audit", "--json", *words.split()))
            )
            for words in self.PICKED
        }

        assert picked == self.PICKED

    def test_finds_somebody_deleted_by_their_id(self, run: Run, ada: str) -> None:
        run("users", "delete", ADA, "--yes")

        by_id = shown(run("audit", "--json", "--user", ada))

        assert [record["event"] for record in by_id][:2] == ["user.deleted", "user.created"]
        assert len(by_id) == 4
        assert {(record["address"], record["user_agent"]) for record in by_id} == {(None, None)}
        assert shown(run("audit", "--json", "--user", ADA)) == []

    def test_refuses_what_it_cannot_read(self, run: Run) -> None:
        for words in ("--since soon", "--until 2026-13-01", "--outcome well", "--limit 0"):
            assert run("audit", *words.split()).exit_code == 2, words
