"""The command `gatewright`: through typer's runner, and as processes of its own."""

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.core import TyperGroup

from server.cli.main import COMMANDS, app
from tests.live import PROGRAM, ROOT, TIMEOUT, launch, serving
from tests.security import second_factor
from tests.server.terminal import Run, complaint
from tests.service import Service, close_service, open_service
from tests.trail import trail

pytestmark = pytest.mark.long

PASSWORD = "correct horse battery"
ADA, BOB = "ada@example.com", "bob@example.com"
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


def every_command() -> list[tuple[str, ...]]:
    """Return the words of every command and group."""

    def below(words: tuple[str, ...], group: TyperGroup) -> Iterator[tuple[str, ...]]:
        for name, one in group.commands.items():
            yield (*words, name)
            if isinstance(one, TyperGroup):
                yield from below((*words, name), one)

    return [(), *below((), typer.main.get_group(app))]


class TestHelp:
    @pytest.mark.parametrize("words", every_command(), ids=" ".join)
    def test_speaks_to_people_and_has_an_example(self, run: Run, words: tuple[str, ...]) -> None:
        done = run(*words, "--help", COLUMNS="80")

        shown = done.stdout
        assert done.exit_code == 0
        assert run(*words, "-h", COLUMNS="80").stdout == shown
        if "COMMAND" not in shown.splitlines()[0]:
            assert f"\n  Example: {' '.join(('gatewright', *words))}" in shown
        assert "..." not in re.sub(r"\[ARGS\]\.{3}|DELIVERY\S*", "", shown), (
            "the first sentence is too long for a list of commands"
        )
        assert max(map(len, shown.splitlines())) <= 80
        assert not re.search(r"<(?!str|int|file)\w*[A-Z]\w*>|None|SecretStr|<class", shown)

    @pytest.mark.parametrize("option", ["--help", "-h", "--version"])
    def test_loads_none_of_the_service(self, option: str) -> None:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "from server.cli.main import run; run()", option],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

        assert "typer" in imported
        assert not imported & {
            "server.config",
            "domain",
            "models",
            "handlers",
            "sqlalchemy",
            "connexion",
            "rich",
        }

    def test_lists_each_command_with_the_beginning_of_its_help(self) -> None:
        group = typer.main.get_group(app)

        assert {name: location.summary for name, location in COMMANDS.items()} == {
            name: command.get_short_help_str(80) for name, command in group.commands.items()
        }

    def test_completes_in_a_shell(self) -> None:
        typed = {
            "_GATEWRIGHT_COMPLETE": "complete_bash",
            "COMP_WORDS": "gatewright users l",
            "COMP_CWORD": "2",
        }

        done = subprocess.run(
            [PROGRAM],
            env={**os.environ, **typed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )

        assert done.stdout.split() == ["list"]

    def test_suggests_the_nearest_command(self, run: Run) -> None:
        done = run("user")

        assert done.exit_code == 2
        assert "No such command 'user'. Did you mean 'users'" in done.stderr

    def test_prints_the_version(self, run: Run) -> None:
        assert run("--version").stdout == f"gatewright {version('gatewright')}\n"


class TestCheckConfig:
    def test_says_what_would_be_used_without_passwords(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_DATABASE_URL="postgresql://auth:hunter2@db.test/auth")

        assert done.exit_code == 0
        assert "http://localhost:8000" in done.stdout
        assert "db.test" in done.stdout
        assert "hunter2" not in done.output
        assert "The configuration is valid." in done.stdout

    def test_lists_what_is_wrong(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_PROFILE="production", GATEWRIGHT_MAIL__SENDER="console")

        assert done.exit_code == 1
        assert done.stdout == ""
        assert [line.split(":")[0] for line in complaint(done.stderr).splitlines()] == [
            "secrets",
            "base_url",
            "database_url",
            "mail.sender",
        ]

    def test_refuses_several_hosts_of_a_database(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_DATABASE_URL="postgresql://ada:hunter2@db1:5432,db2:5432/auth")

        assert (done.exit_code, done.stdout) == (1, "")
        assert complaint(done.stderr).startswith("database_url: the database address names several hosts; ")
        assert complaint(done.stderr).count("\n") == 0

    def test_refuses_unknown_variables_and_suggests_the_nearest(self, run: Run) -> None:
        done = run("check-config", GATEWRIGHT_APPNAME="Ada", GATEWRIGHT_ZZZ="1")

        assert (done.exit_code, done.stdout) == (1, "")
        assert complaint(done.stderr).splitlines() == [
            "GATEWRIGHT_APPNAME: names no setting; did you mean GATEWRIGHT_APP_NAME?",
            "GATEWRIGHT_ZZZ: names no setting",
        ]

    def test_suggests_the_nearest_name_in_the_file(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text("[session]\nexpire_in = 7\n", "utf-8")

        done = run("check-config")

        assert "session.expire_in: is not a setting; did you mean session.expires_in? (" in done.stderr

    def test_accepts_the_variables_that_kubernetes_sets(self, run: Run) -> None:
        address = "tcp://10.0.0.1:80"
        variables = {"GATEWRIGHT_SERVICE_HOST": "10.0.0.1", "GATEWRIGHT_SERVICE_PORT_HTTP": "80"}
        tcp = {"GATEWRIGHT_PORT_80_TCP": address, "GATEWRIGHT_PORT_80_TCP_PROTO": "tcp"}

        done = run("check-config", **variables, **tcp, GATEWRIGHT_PORT=address)

        assert done.exit_code == 0, done.output

    def test_a_failure_says_which_configuration_was_used(self, run: Run, tmp_path: Path) -> None:
        nothing = dict.fromkeys(DEVELOPMENT)

        first = run("users", "list", **nothing)
        variables = run("users", "list", **nothing, GATEWRIGHT_APP_NAME="Ada")
        (tmp_path / "gatewright.toml").write_text('app_name = "Ada"\n', "utf-8")
        file = run("users", "list", **nothing)
        both = run("users", "list", **nothing, GATEWRIGHT_MAIL__SENDER="none", GATEWRIGHT_LOG__LEVEL="error")

        used = [done.stderr.splitlines()[-1].removeprefix("gatewright: configuration: ") for done in
                (first, variables, file, both)]  # fmt: skip
        path = tmp_path / "gatewright.toml"
        assert used == [
            f"none in {path} or the environment; for a first try: GATEWRIGHT_PROFILE=development gatewright serve",
            f"1 GATEWRIGHT_… variable; there is no {path}",
            str(path),
            f"{path}, 2 GATEWRIGHT_… variables",
        ]


class TestSettings:
    def test_show_value_and_source_of_each(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text(
            '[session]\nexpires_in = "30d"\n[providers.google]\nclient_id = "id"\nclient_secret = "hunter2"\n',
            "utf-8",
        )

        done = run("settings", GATEWRIGHT_MAIL__SMTP__PASSWORD="hunter2", GATEWRIGHT_APP_NAME="Ada's")

        rows = {
            row[0]: row[1:] for row in (re.split(r"  +", line.strip()) for line in done.stdout.splitlines())
        }
        assert done.exit_code == 0, done.output
        assert rows["app_name"] == ["Ada's", "GATEWRIGHT_APP_NAME"]
        assert rows["session.expires_in"] == ["30d", "gatewright.toml:2"]
        assert rows["session.cookie_secure"] == ["true", "default"]
        assert rows["mail.sender"] == ["console", "profile development"]
        assert rows["log.format"] == ["json", "default"]
        assert rows["mail.smtp.password"] == ["********", "GATEWRIGHT_MAIL__SMTP__PASSWORD"]
        assert rows["secrets"] == ["********", "profile development"]
        assert rows["providers.google.client_secret"] == ["********", "gatewright.toml:5"]
        assert "hunter2" not in done.output

    def test_show_only_some(self, run: Run) -> None:
        done = run("settings", "mail", "--changed", GATEWRIGHT_APP_NAME="Ada")

        assert [line.split()[0] for line in done.stdout.splitlines()] == [
            "Setting",
            "mail.sender",
            "mail.mailbox",
        ]
        assert run("settings", "no_such").stderr == "There are no such settings.\n"

    def test_show_what_is_not_valid_yet(self, run: Run) -> None:
        done = run("settings", "base", GATEWRIGHT_PROFILE="production")

        assert (done.exit_code, done.stdout.splitlines()[1].split()) == (0, ["base_url", "none", "default"])

    def test_print_the_reference(self, run: Run) -> None:
        done = run("settings", "--markdown", GATEWRIGHT_APP_NAME="Ada")

        assert done.stdout.startswith("| Setting | Default | Meaning |\n")
        assert "\n| `app_name` | Gatewright |" in done.stdout


def test_a_terminal_of_80_columns_shows_whole_words_and_colours(ada: str, tmp_path: Path) -> None:
    plain = [("users", "list"), ("audit",), ("settings",), ("users", "show", ADA), ("check-config",)]
    coloured = [("doctor",), ("users", "show", "nobody")]

    shown = on_terminal(tmp_path, plain, NO_COLOR="1") + on_terminal(tmp_path, coloured, NO_COLOR="")

    users, audit, settings, user, checked, doctor, nobody = shown
    visible = [re.sub(r"\x1b\[[0-9;]*m", "", text) for text in shown]
    assert max(len(line) for text in visible[:4] + visible[5:6] for line in text.splitlines()) <= 80
    assert [ada in users, ada in user, ada in audit, "user.created" in audit] == [True] * 4
    assert re.search(r"log\.format *\nValue +console *\nFrom .*profile development", settings)
    assert ("\x1b[32m" in checked, "\x1b[32mok" in doctor) == (False, True)
    assert "\x1b[31mgatewright:\x1b[0m There is no such user" in nobody


def on_terminal(directory: Path, commands: list[tuple[str, ...]], **variables: str) -> list[str]:
    """Return what each command shows on a terminal of 80 columns; one process runs them all."""
    code = (
        "import json, sys; from server.cli.main import COMMANDS, app\n"
        "for words in json.loads(sys.argv[1]): app(words, standalone_mode=False); print('\\f')"
    )
    primary, secondary = pty.openpty()
    environ = {
        **os.environ,
        **DEVELOPMENT,
        **variables,
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "COLUMNS": "80",
    }
    words = (sys.executable, "-c", code, json.dumps(commands))
    with subprocess.Popen(words, cwd=directory, env=environ, stdout=secondary, stderr=secondary):
        os.close(secondary)
        shown = b""
        with contextlib.suppress(OSError):  # The end of the output, on Linux.
            while read := os.read(primary, 4096):
                shown += read
    os.close(primary)
    return shown.decode().replace("\r\n", "\n").split("\f\n")[:-1]


class TestMigrate:
    def test_makes_the_schema_and_checks_it(self, run: Run) -> None:
        before = run("migrate", "--check")
        done = run("migrate")
        after = run("migrate", "--check")

        assert (before.exit_code, done.exit_code, after.exit_code) == (1, 0, 0)
        assert complaint(before.stderr).count("\n") == 0


class TestOpenapi:
    def test_prints_the_contract_without_any_configuration(self, run: Run) -> None:
        document = json.loads(run("openapi", GATEWRIGHT_PROFILE="production").stdout)

        assert document["openapi"] == "3.0.3"
        assert document["paths"]["/get-session"]["get"]["operationId"] == "sessions.get_current"

    def test_for_generators(self, run: Run) -> None:
        document = json.loads(run("openapi", "--ids", "flat", "--version", "3.1").stdout)

        assert document["openapi"].startswith("3.1")
        assert document["paths"]["/get-session"]["get"]["operationId"] == "sessions_get_current"

    @pytest.mark.parametrize("options", [(), ("--for-clients",), ("--links", "--version", "3.1")])
    def test_says_nothing_that_is_for_the_service_alone(self, run: Run, options: tuple[str, ...]) -> None:
        assert "x-gatewright" not in run("openapi", *options).stdout


class TestMail:
    def test_sends_one(self, run: Run, tmp_path: Path) -> None:
        done = run("mail", "test", ADA, GATEWRIGHT_MAIL__SENDER="file")

        assert done.exit_code == 0
        (mail,) = map(json.loads, (tmp_path / "mail.jsonl").read_text("utf-8").splitlines())
        assert (mail["to"], mail["template"], mail["link"]) == (ADA, "test", None)

    def test_a_template_that_cannot_be_filled_in_is_told_in_a_line(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "test").mkdir()
        (tmp_path / "test" / "body.txt").write_text("{{ colour }}")

        done = run(
            "mail", "test", ADA, GATEWRIGHT_MAIL__SENDER="file", GATEWRIGHT_MAIL__TEMPLATES_DIR=str(tmp_path)
        )

        assert (done.exit_code, complaint(done.stderr)) == (1, "mail.templates_dir: 'colour' is undefined")

    @pytest.mark.parametrize(
        ("address", "variables", "expected"),
        [
            (ADA, {"MAIL__SENDER": "none"}, "mail.sender: is none, so no email is sent"),
            ("ada", {}, "Invalid email"),
            (
                ADA,
                {
                    "MAIL__SENDER": "smtp",
                    "MAIL__SMTP__HOST": "127.0.0.1",
                    "MAIL__SMTP__PORT": "9",
                    "MAIL__FROM": "auth@example.com",
                },
                "smtp: ",
            ),
        ],
    )
    def test_says_why_none_is_sent(
        self, run: Run, address: str, variables: dict[str, str], expected: str
    ) -> None:
        done = run(
            "mail", "test", address, **{f"GATEWRIGHT_{name}": text for name, text in variables.items()}
        )

        assert done.exit_code == 1
        assert complaint(done.stderr).startswith(expected)


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

        assert (taken.exit_code, complaint(taken.stderr)) == (1, "User already exists. Use another email.")
        assert (short.exit_code, complaint(short.stderr)) == (1, "Password too short (minimumLength: 8)")
        assert missing.exit_code == 1

    def test_list_and_show(self, run: Run, ada: str) -> None:
        table = run("users", "list").stdout
        listed = json.loads(run("users", "list", "ada", "--json").stdout)
        shown = run("users", "show", ADA).stdout

        assert ada in table
        assert table.endswith("\n1 user\n")
        assert [user["id"] for user in listed] == [ada]
        assert ada in shown
        assert "Signs in with: credential" in shown

    def test_show_lets_nothing_steer_the_terminal(self, run: Run, ada: str) -> None:
        run("users", "ban", ADA, "--reason", "a\x1b[2Jb\r\nc\u202ed")

        assert "a\ufffd[2Jb\ufffd\ufffdc\ufffdd" in run("users", "show", ADA).stdout

    def test_roles_are_given_and_taken(self, run: Run, ada: str) -> None:
        promoted = run("users", "promote", ADA)
        administrators = json.loads(run("users", "admins", "--json").stdout)
        refused = run("users", "demote", ADA, stdin="n\n")
        demoted = run("users", "demote", ADA, "--yes")

        assert promoted.stdout == f"Roles of {ADA}: user,admin.\n"
        assert [user["id"] for user in administrators] == [ada]
        assert (refused.exit_code, "is the last administrator" in refused.output) == (1, True)
        assert demoted.stdout == f"Roles of {ADA}: user.\n"
        assert run("users", "admins").stdout == "0 administrators\n"
        assert run("users", "set-role", ADA, "admin").stdout == f"Roles of {ADA}: admin.\n"
        assert json.loads(run("users", "list", "--role", "user", "--json").stdout) == []
        unknown = run("users", "promote", ADA, "--role", "owner")
        assert complaint(unknown.stderr) == (
            "owner: not a configured role; define it in admin.roles, or use one of: admin, user"
        )

    def test_impersonations_are_listed_and_ended(self, run: Run, ada: str, tmp_path: Path) -> None:
        grace = "grace@example.com"
        run("users", "create", grace, stdin=f"{PASSWORD}\n")
        assert run("users", "impersonations").stdout == "0 sessions in the name of users\n"
        run("users", "promote", ADA)
        asyncio.run(
            _with_service(f"sqlite:///{tmp_path / 'gatewright.db'}", tmp_path, partial(_act, email=grace))
        )

        listed = json.loads(run("users", "impersonations", "--json").stdout)
        table = run("users", "impersonations").stdout
        refused = run("users", "impersonations", "--end", stdin="n\n")

        assert [(one["administrator"], one["user"]) for one in listed] == [(ADA, grace)]
        assert table.endswith("\n1 session in the name of users\n")
        assert refused.exit_code == 1
        assert run("users", "impersonations", "--end", "--yes").stdout == "1 session ended.\n"
        assert json.loads(run("users", "impersonations", "--json").stdout) == []
        record = json.loads(run("audit", "--event", "impersonation.ended", "--json").stdout)
        assert (record["actor_id"], record["details"]["by"]) == (None, "operator")
        assert record["details"]["impersonator"] == ada

    def test_a_role_that_is_no_longer_configured_stays(self, run: Run, ada: str) -> None:
        settings = {"GATEWRIGHT_ADMIN__ROLES": '{"editor": {}}'}
        run("users", "set-role", ADA, "editor", **settings)

        assert run("users", "promote", ADA).stdout == f"Roles of {ADA}: editor,admin.\n"

    def test_set_password_and_verify_email(self, run: Run, ada: str) -> None:
        assert complaint(run("users", "set-password", ADA, stdin="short\n").stderr).startswith(
            "Password too short"
        )
        changed = run("users", "set-password", ADA, stdin="another good password\n")

        assert changed.stdout == f"{ADA} has a new password; 0 sessions ended.\n"
        assert run("users", "verify-email", ADA).stdout == f"The email address of {ADA} is verified now.\n"
        assert (
            run("users", "verify-email", ADA).stdout == f"The email address of {ADA} was verified already.\n"
        )

    def test_create_with_a_role(self, run: Run) -> None:
        run("users", "create", "bob@example.com", "--role", "admin", stdin=f"{PASSWORD}\n")

        listed = json.loads(run("users", "list", "--role", "admin", "--json").stdout)
        assert [user["email"] for user in listed] == ["bob@example.com"]
        run("users", "ban", "bob@example.com")
        assert "bob@example.com" in run("users", "list", "--banned").stdout

    def test_a_ban_that_has_ended_is_not_listed(self, run: Run) -> None:
        ended = {"email": BOB, "banned": True, "banExpires": "2024-01-31"}
        banned = {"email": ADA, "banned": True}
        administrators = [json.dumps({**user, "role": "admin"}) for user in (ended, banned)]
        run("import", "json-lines", "-", "--role", "admin", stdin="\n".join(administrators))

        [_, row, total] = run("users", "list", "--banned").stdout.splitlines()

        assert (row.split()[-1], total) == ("banned", "1 user")
        for listing in ("list", "admins"):
            [row] = [line for line in run("users", listing).stdout.splitlines() if BOB in line]
            assert "banned" not in row

    def test_ban_for_a_time_and_unban(self, run: Run, ada: str) -> None:
        banned = run("users", "ban", ADA, "--reason", "spam", "--for", "7d")
        user = json.loads(run("users", "show", ADA, "--json").stdout)["user"]
        unbanned = run("users", "unban", ADA)
        again = run("users", "unban", ADA)

        assert banned.stdout == f"Banned {ADA}; 0 sessions ended.\n"
        assert (user["banned"], user["banReason"]) == (True, "spam")
        assert user["banExpires"] is not None
        assert (unbanned.stdout, again.stdout) == (f"{ADA} may sign in again.\n", f"{ADA} was not banned.\n")

    def test_ban_refuses_a_strange_duration(self, run: Run, ada: str) -> None:
        for duration in ("soon", "3000000d", "999999999999d", "36501d"):
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
        assert complaint(done.stderr) == "The password must be text in UTF-8 without NUL"

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

        assert (done.exit_code, complaint(done.stderr)) == (1, "There is no such user")


class TestTwoFactorReset:
    @pytest.fixture
    def enrolled(self, tmp_path: Path) -> Callable[[Job], Any]:
        """A user with an authenticator; runs a job with the service on the database of the commands, and the user."""
        job_of = partial(_with_service, f"sqlite:///{tmp_path / 'gatewright.db'}", tmp_path)
        return lambda job: asyncio.run(job_of(job))

    def test_lets_a_user_in_who_has_lost_everything(self, run: Run, enrolled: Callable[[Job], Any]) -> None:
        enrolled(_trust)
        user = json.loads(run("users", "show", ADA, "--json").stdout)["user"]["id"]
        known = {record.id for record in enrolled(trail)}

        done = run("users", "two-factor-reset", ADA, "--yes", GATEWRIGHT_MAIL__SENDER="file")

        added = [record for record in enrolled(trail) if record.id not in known]
        assert done.exit_code == 0
        assert done.stdout == f"{ADA} signs in with the password alone; 2 sessions ended.\n"
        assert ADA not in done.stderr
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
        assert enrolled(_left) == {
            "user": False, "two_factor": 0, "backup_code": 0, "trusted_device": 0, "session": 0, "grants": [],
            "notices": ["off", "on"], "signs_in": True,
        }  # fmt: skip

    def test_leaves_a_user_alone_who_has_none(self, run: Run, ada: str) -> None:
        done = run("users", "two-factor-reset", ADA, "--yes")

        assert (done.exit_code, done.stdout) == (0, f"{ADA} has no second factor.\n")
        assert done.stderr == ""


async def _trust(service: Service) -> None:
    owner = await second_factor.enrol(service, ADA)
    await second_factor.trusted_device(service, owner)
    await second_factor.challenge(service, ADA)


async def _left(service: Service) -> dict[str, Any]:
    """What is left of the second factor, the notices that went out, and whether the password alone is enough."""
    tables = ("two_factor", "backup_code", "trusted_device", "session")
    counts = {table: (await service.rows(f'SELECT count(*) FROM "{table}"'))[0][0] for table in tables}
    purposes = await service.rows("SELECT purpose FROM \"grant\" WHERE purpose NOT IN ('verify', 'disown')")
    [(enabled,)] = await service.rows('SELECT two_factor_enabled FROM "user"')
    notices = await service.inbox(ADA, "two-factor-changed")
    said = sorted("on" if "turned on" in " ".join(mail["text"].split()) else "off" for mail in notices)
    signs_in = not second_factor.is_pending(await second_factor.sign_in(service, ADA))
    return {**counts, "grants": purposes, "user": bool(enabled), "notices": said, "signs_in": signs_in}


class TestServe:
    @pytest.mark.parametrize(("end", "has_documents"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
    def test_serves_beside_other_commands_until_told_to_stop(
        self, run: Run, tmp_path: Path, end: signal.Signals, has_documents: bool
    ) -> None:
        chosen = {"mail.sender": "console", "documents.enabled": str(has_documents).lower()}
        new = {"name": "Ada", "email": ADA, "password": PASSWORD}
        with serving(tmp_path, chosen) as live:
            answer = httpx.get(f"{live.url}/ok", timeout=TIMEOUT)
            documents = httpx.get(f"{live.url}/docs", timeout=TIMEOUT)
            signed_up = httpx.post(f"{live.url}/sign-up/email", json=new, timeout=TIMEOUT)
            # The file that the start created selects the profile.
            listed = run("users", "list", "--json", **dict.fromkeys(DEVELOPMENT))
            live.process.send_signal(end)
            live.process.wait(timeout=60)

        printed = "".join(live.output.lines)
        assert (answer.status_code, answer.json(), signed_up.status_code) == (200, {"ok": True}, 200)
        assert "server" not in answer.headers
        assert [user["email"] for user in json.loads(listed.stdout)] == [ADA], listed.output
        assert (live.process.returncode, live.output.faults()) == (0, [])
        assert json.loads(live.output.lines[-1])["event"] == "service.stopped"
        assert f"Settings:    {tmp_path / 'gatewright.toml'} (created)\n" in printed
        assert "Emails:      console\n" in printed
        assert documents.status_code == (200 if has_documents else 404)
        assert ("/docs\n" in printed) == has_documents

    def test_does_not_start_with_a_faulty_file(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "layout.txt").write_text("{% block %}")

        done = run("serve", GATEWRIGHT_MAIL__TEMPLATES_DIR=str(tmp_path))

        assert done.exit_code == 1
        assert complaint(done.stderr).startswith(f"mail.templates_dir: {tmp_path / 'layout.txt'}, line 1: ")

    def test_does_not_start_on_a_taken_port(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            with launch(tmp_path, {}, "--port", port) as process:
                printed, _ = process.communicate()

        refusal, configuration = printed.decode().splitlines()[-2:]
        assert process.returncode == 1
        assert refusal == (
            f"gatewright: server.port: 127.0.0.1:{port}: Address already in use. "
            "Stop the other program, or set another port in GATEWRIGHT_SERVER__PORT"
        )
        assert configuration.startswith("gatewright: configuration: ")

    @pytest.mark.threat("R43")
    def test_does_not_start_as_configured(self, run: Run) -> None:
        done = run("serve", GATEWRIGHT_PROFILE="production")

        assert done.exit_code == 1
        assert "Traceback" not in done.stderr
        assert all(line.startswith("gatewright: ") for line in done.stderr.splitlines())


async def _with_service(url: str, directory: Path, job: Job) -> Any:
    service = await open_service(url, directory, {})
    service.clock.now = datetime.now(UTC)
    try:
        return await job(service)
    finally:
        await close_service(service)


async def _act(service: Service, email: str) -> None:
    """Open a session in the name of a user, as Ada."""
    answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
    headers = {"Authorization": f"Bearer {answer.json()['token']}"}
    [[user_id]] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=email)
    opened = await service.post("/admin/impersonate-user", {"userId": user_id}, headers=headers)
    assert opened.status_code == 200, opened.text
