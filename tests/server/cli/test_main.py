"""The command `gatewright`: through typer's runner, and as processes of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live import serving
from tests.security import second_factor
from tests.server.terminal import Run
from tests.service import Service, close_service, open_service
from tests.trail import trail

pytestmark = pytest.mark.long

PASSWORD = "correct horse battery"
ADA = "ada@example.com"
CODE = "from server.cli.main import app; app(prog_name='gatewright')"
PROGRAM = (sys.executable, "-c", CODE)
ROOT = Path(__file__).parents[3]
DEVELOPMENT = {
    "GATEWRIGHT_PROFILE": "development",
    "GATEWRIGHT_PASSWORD__ARGON2_MEMORY_KIB": "1024",
    "GATEWRIGHT_PASSWORD__ARGON2_TIME": "1",
}

Job = Callable[[Service], Awaitable[Any]]


@pytest.fixture
def command_settings() -> Mapping[str, str]:
    """The development profile, which prints its mails."""
    return DEVELOPMENT


@pytest.fixture
def ada(run: Run) -> str:
    """Make a user; give the id."""
    done = run("users", "create", ADA, "--name", "Ada", "--username", "ada_l", stdin=f"{PASSWORD}\n")
    assert done.exit_code == 0, done.output
    return done.stdout.split()[-1].rstrip(".")


def start(directory: Path, *words: str, code: str = CODE, **variables: str) -> subprocess.Popen[str]:
    """Start a command as a process of its own."""
    environ = {**os.environ, **DEVELOPMENT, **variables, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=directory,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestHelp:
    def test_has_a_short_option(self, run: Run) -> None:
        assert run("users", "-h").output == run("users", "--help").output

    def test_prints_the_version(self, run: Run) -> None:
        assert run("--version").stdout == f"gatewright {version('gatewright')}\n"


class TestCheckConfig:
    def test_says_what_would_be_used(self, run: Run) -> None:
        done = run("check-config")

        assert done.exit_code == 0
        assert "http://127.0.0.1:8000" in done.stdout
        assert "The configuration is valid." in done.stdout

    def test_lists_what_is_wrong(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_PROFILE="production", GATEWRIGHT_MAIL__SENDER="console")

        assert done.exit_code == 1
        assert done.stdout == ""
        assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == [
            "secrets",
            "base_url",
            "database_url",
            "mail.sender",
        ]

    def test_refuses_several_hosts_of_a_database(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_DATABASE_URL="postgresql://ada:hunter2@db1:5432,db2:5432/auth")

        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("gatewright: database_url: the database address names several hosts; ")
        assert done.stderr.count("\n") == 1

    def test_names_a_faulty_file(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "refused.txt"
        file.write_bytes(b"passw\xf6rd\n")

        done = run("check-config", GATEWRIGHT_PASSWORD__BLOCKLIST_FILE=str(file))

        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"gatewright: password.blocklist_file: {file}: ")
        assert done.stderr.count("\n") == 1

    def test_warns_of_unknown_variables(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_SERVICE_HOST="10.0.0.1")

        assert done.exit_code == 0
        assert "GATEWRIGHT_SERVICE_HOST: names no setting" in done.stderr

    def test_never_shows_a_password(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_DATABASE_URL="postgresql://auth:hunter2@db.test/auth")

        assert done.exit_code == 0
        assert "db.test" in done.stdout
        assert "hunter2" not in done.output


class TestMigrate:
    def test_makes_the_schema_and_checks_it(self, run: Run) -> None:
        before = run("migrate", "--check")
        done = run("migrate")
        after = run("migrate", "--check")

        assert (before.exit_code, done.exit_code, after.exit_code) == (1, 0, 0)
        assert before.stderr.count("\n") == 1


class TestOpenapi:
    def test_prints_the_contract(self, run: Run) -> None:
        document = json.loads(run("openapi").stdout)

        assert document["openapi"] == "3.0.3"
        assert document["paths"]["/get-session"]["get"]["operationId"] == "sessions.get_current"

    @pytest.mark.parametrize("options", [(), ("--for-clients",), ("--links", "--version", "3.1")])
    def test_says_nothing_that_is_for_the_service_alone(self, run: Run, options: tuple[str, ...]) -> None:
        assert "x-gatewright" not in run("openapi", *options).stdout

    def test_for_generators(self, run: Run) -> None:
        document = json.loads(run("openapi", "--ids", "flat", "--version", "3.1").stdout)

        assert document["openapi"].startswith("3.1")
        assert document["paths"]["/get-session"]["get"]["operationId"] == "sessions_get_current"

    def test_needs_no_configuration(self, run: Run) -> None:
        assert run("openapi", GATEWRIGHT_PROFILE="production").exit_code == 0


class TestMail:
    def test_sends_one(self, run: Run, tmp_path: Path) -> None:
        done = run("mail", "test", ADA, GATEWRIGHT_MAIL__SENDER="file")

        assert done.exit_code == 0
        (mail,) = map(json.loads, (tmp_path / "mail.jsonl").read_text("utf-8").splitlines())
        assert (mail["to"], mail["template"], mail["link"]) == (ADA, "test", None)

    def test_says_when_there_is_no_sender(self, run: Run) -> None:
        done = run("mail", "test", ADA, GATEWRIGHT_MAIL__SENDER="none")

        assert (done.exit_code, done.stderr) == (1, "gatewright: mail.sender: is none, so no mail is sent\n")

    def test_a_template_that_cannot_be_filled_in_is_told_in_a_line(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "test").mkdir()
        (tmp_path / "test" / "body.txt").write_text("{{ colour }}")

        done = run(
            "mail", "test", ADA, GATEWRIGHT_MAIL__SENDER="file", GATEWRIGHT_MAIL__TEMPLATES_DIR=str(tmp_path)
        )

        assert (done.exit_code, done.stderr) == (1, "gatewright: mail.templates_dir: 'colour' is undefined\n")

    def test_says_when_the_address_is_none(self, run: Run) -> None:
        done = run("mail", "test", "ada")

        assert (done.exit_code, done.stderr) == (1, "gatewright: Invalid email\n")

    def test_says_when_the_server_does_not_answer(self, run: Run) -> None:
        done = run(
            "mail",
            "test",
            ADA,
            GATEWRIGHT_MAIL__SENDER="smtp",
            GATEWRIGHT_MAIL__SMTP__HOST="127.0.0.1",
            GATEWRIGHT_MAIL__SMTP__PORT="9",
            GATEWRIGHT_MAIL__FROM="auth@example.com",
        )

        assert done.exit_code == 1
        assert done.stderr.startswith("gatewright: smtp: ")


class TestUsers:
    def test_create_takes_the_password_from_standard_input(self, run: Run, ada: str) -> None:
        shown = json.loads(run("users", "show", ada, "--json").stdout)

        assert shown["user"]["email"] == ADA
        assert (shown["providers"], shown["sessions"]) == (["credential"], [])

    def test_create_has_no_option_for_a_password(self, run: Run) -> None:
        assert run("users", "create", ADA, "--password", PASSWORD).exit_code == 2

    def test_create_tells_what_is_wrong(self, run: Run, ada: str) -> None:
        taken = run("users", "create", ADA, stdin=f"{PASSWORD}\n")
        short = run("users", "create", "bob@example.com", stdin="short\n")
        missing = run("users", "create", "bob@example.com")

        assert (taken.exit_code, taken.stderr) == (1, "gatewright: User already exists. Use another email.\n")
        assert (short.exit_code, short.stderr) == (1, "gatewright: Password too short\n")
        assert missing.exit_code == 1

    def test_list(self, run: Run, ada: str) -> None:
        table = run("users", "list").stdout
        listed = json.loads(run("users", "list", "ada", "--json").stdout)

        assert ada in table
        assert "1 of 1 users" in table
        assert [user["id"] for user in listed] == [ada]

    def test_show(self, run: Run, ada: str) -> None:
        done = run("users", "show", ADA)

        assert ada in done.stdout
        assert "Signs in with: credential" in done.stdout

    def test_show_lets_nothing_steer_the_terminal(self, run: Run, ada: str) -> None:
        run("users", "ban", ADA, "--reason", "a\x1b[2Jb\r\nc\u202ed")

        assert "a\ufffd[2Jb\ufffd\ufffdc\ufffdd" in run("users", "show", ADA).stdout

    def test_ban_for_a_time_and_unban(self, run: Run, ada: str) -> None:
        banned = run("users", "ban", ADA, "--reason", "spam", "--for", "7d")
        user = json.loads(run("users", "show", ADA, "--json").stdout)["user"]
        unbanned = run("users", "unban", ADA)
        again = run("users", "unban", ADA)

        assert banned.stdout == f"Banned {ADA}; 0 sessions ended.\n"
        assert (user["banned"], user["banReason"]) == (True, "spam")
        assert user["banExpires"] is not None
        assert (unbanned.stdout, again.stdout) == (f"{ADA} may sign in again.\n", f"{ADA} was not banned.\n")

    @pytest.mark.parametrize("duration", ["soon", "3000000d", "999999999999d", "36501d"])
    def test_ban_refuses_a_strange_duration(self, run: Run, ada: str, duration: str) -> None:
        assert run("users", "ban", ADA, "--for", duration).exit_code == 2
        assert not json.loads(run("users", "show", ADA, "--json").stdout)["user"]["banned"]

    @pytest.mark.parametrize(
        "words",
        [
            ["list", "\udcff"],
            ["show", "ada\0"],
            ["create", "\udcff@example.com"],
            ["ban", ADA, "--reason=\udcff"],
        ],
    )
    def test_what_is_no_text_is_refused(self, run: Run, words: list[str]) -> None:
        done = run("users", *words, stdin=f"{PASSWORD}\n")

        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == "gatewright: the arguments must be text in UTF-8 without NUL\n"

    @pytest.mark.parametrize("password", [b"correct\0horse battery\n", b"correct horse \xff battery\n"])
    def test_create_refuses_a_password_that_is_no_text(self, run: Run, password: bytes) -> None:
        done = run("users", "create", ADA, stdin=password)

        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == "gatewright: The password must be text in UTF-8 without NUL\n"

    @pytest.mark.parametrize(
        "words", [["users", "delete"], ["users", "revoke-sessions"], ["users", "two-factor-reset"]]
    )
    def test_dangerous_ones_ask_first(self, run: Run, ada: str, words: list[str]) -> None:
        refused = run(*words, ADA, stdin="n\n")
        silent = run(*words, ADA)
        left = json.loads(run("users", "list", "--json").stdout)

        assert (refused.exit_code, silent.exit_code, len(left)) == (1, 1, 1)
        assert run(*words, ADA, stdin="y\n").exit_code == 0

    @pytest.mark.parametrize(
        "words",
        [
            ["show"],
            ["ban"],
            ["unban"],
            ["revoke-sessions", "--yes"],
            ["two-factor-reset", "--yes"],
            ["delete", "--yes"],
        ],
    )
    def test_nobody(self, run: Run, words: list[str]) -> None:
        done = run("users", *words, "nobody@example.com")

        assert (done.exit_code, done.stderr) == (1, "gatewright: There is no such user\n")


class TestTwoFactorReset:
    @pytest.fixture
    def enrolled(self, tmp_path: Path) -> Callable[[Job], Any]:
        """A user with an authenticator; runs a job with the service on the database of the commands, and the user."""
        job_of = partial(_with_second_factor, f"sqlite:///{tmp_path / 'gatewright.db'}", tmp_path)
        return lambda job: asyncio.run(job_of(job))

    def test_lets_a_user_in_who_has_lost_everything(self, run: Run, enrolled: Callable[[Job], Any]) -> None:
        enrolled(_trust)

        done = run("users", "two-factor-reset", ADA, "--yes", GATEWRIGHT_MAIL__SENDER="file")

        assert done.exit_code == 0
        assert done.stdout == f"{ADA} signs in with the password alone; 2 sessions ended.\n"
        assert ADA not in done.stderr
        assert enrolled(_left) == {
            "user": False, "two_factor": 0, "backup_code": 0, "trusted_device": 0, "session": 0, "grants": [],
            "notices": ["off", "on"], "signs_in": True,
        }  # fmt: skip

    def test_is_on_record_as_the_operators_doing(self, run: Run, enrolled: Callable[[Job], Any]) -> None:
        enrolled(_trust)
        user = json.loads(run("users", "show", ADA, "--json").stdout)["user"]["id"]
        earlier = enrolled(trail)

        done = run("users", "two-factor-reset", ADA, "--yes", GATEWRIGHT_MAIL__SENDER="file")

        known = {record.id for record in earlier}
        added = [record for record in enrolled(trail) if record.id not in known]
        assert {record.event: record.details for record in added} == {
            "two_factor.disabled": {"by": "operator"},
            "session.revoked_all": {"by": "operator", "sessions_ended": 2},
            "trusted_device.removed": {"devices": 1},
        }
        assert {(record.outcome, record.user_id, record.actor_id) for record in added} == {
            ("success", user, None)
        }
        assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == [
            "trusted_device.removed",
            "two_factor.disabled",
            "session.revoked_all",
        ]

    def test_leaves_a_user_alone_who_has_none(self, run: Run, ada: str) -> None:
        done = run("users", "two-factor-reset", ADA, "--yes")

        assert (done.exit_code, done.stdout) == (0, f"{ADA} has no second factor.\n")
        assert done.stderr == ""


async def _with_second_factor(url: str, directory: Path, job: Job) -> Any:
    service = await open_service(url, directory, {})
    service.clock.now = datetime.now(UTC)
    try:
        return await job(service)
    finally:
        await close_service(service)


async def _trust(service: Service) -> None:
    owner = await second_factor.enrol(service, ADA)
    await second_factor.trusted_device(service, owner)
    await second_factor.challenge(service, ADA)


async def _left(service: Service) -> dict[str, Any]:
    """What is left of the second factor, the notices that went out, and whether the password alone is enough."""
    tables = ("two_factor", "backup_code", "trusted_device", "session")
    counts = {table: (await service.rows(f'SELECT count(*) FROM "{table}"'))[0][0] for table in tables}
    purposes = await service.rows("SELECT purpose FROM \"grant\" WHERE purpose <> 'verify'")
    [(enabled,)] = await service.rows('SELECT two_factor_enabled FROM "user"')
    notices = await service.inbox(ADA, "two-factor-changed")
    said = sorted("on" if "turned on" in " ".join(mail["text"].split()) else "off" for mail in notices)
    signs_in = not second_factor.is_pending(await second_factor.sign_in(service, ADA))
    return {**counts, "grants": purposes, "user": bool(enabled), "notices": said, "signs_in": signs_in}


class TestServe:
    @pytest.mark.parametrize("is_served", [True, False])
    def test_the_page_is_named_where_it_is_served(self, tmp_path: Path, is_served: bool) -> None:
        with serving(tmp_path, {"documents.enabled": str(is_served).lower()}) as live:
            answer = httpx.get(f"{live.url}/docs")

        assert answer.status_code == (200 if is_served else 404)
        assert any("/docs" in line for line in live.output.lines if line.startswith(" ")) == is_served

    @pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
    def test_serves_until_told_to_stop(self, tmp_path: Path, end: signal.Signals) -> None:
        with start(tmp_path, "serve", "--port", "0") as process:
            try:
                started = _started(process)
                answer = httpx.get(f"http://{started['address']}/ok")
            finally:
                process.send_signal(end)
            greeting, rest = process.communicate()

        assert (answer.status_code, answer.json()) == (200, {"ok": True})
        assert "server" not in answer.headers
        assert process.returncode == 0
        lines = [json.loads(line) for line in rest.splitlines()]
        assert lines[-1]["event"] == "service.stopped"
        assert "/docs" in greeting
        assert "is printed here" in greeting

    def test_does_not_start_with_a_faulty_file(self, tmp_path: Path) -> None:
        (tmp_path / "layout.txt").write_text("{% block %}")
        with start(tmp_path, "serve", GATEWRIGHT_MAIL__TEMPLATES_DIR=str(tmp_path)) as process:
            _, errors = process.communicate()

        assert process.returncode == 1
        (line,) = errors.splitlines()
        assert line.startswith(f"gatewright: mail.templates_dir: {tmp_path / 'layout.txt'}, line 1: ")

    def test_does_not_start_on_a_taken_port(self, tmp_path: Path) -> None:
        with start(tmp_path, "serve", "--port", "0") as first:
            try:
                port = _started(first)["address"].rpartition(":")[2]
                with start(tmp_path, "serve", "--port", port) as second:
                    _, errors = second.communicate()
            finally:
                first.terminate()
            first.communicate()

        assert second.returncode != 0
        (line,) = (json.loads(line) for line in errors.splitlines())
        assert "Address already in use" in line["event"]

    @pytest.mark.threat("R43")
    def test_does_not_start_as_configured(self, tmp_path: Path) -> None:
        with start(tmp_path, "serve", GATEWRIGHT_PROFILE="production") as process:
            _, errors = process.communicate()

        assert process.returncode == 1
        assert "Traceback" not in errors
        assert all(line.startswith("gatewright: ") for line in errors.splitlines())


def _started(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the line that says that the service has started."""
    assert process.stderr is not None
    for line in process.stderr:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "service.started":
            return event
    raise AssertionError("the service did not start")
