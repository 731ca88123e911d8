"""What README.md shows is true: its table of settings is the settings, and its first steps work as they are written."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from server import profiles
from server.commands import reference
from server.providers.configuration import secret_of
from server.providers.presets import PRESETS
from tests.bench.servers import free_port
from tests.live import ROOT, LiveService, serving
from tests.provider.process import ProviderProcess
from tests.provider.settings import social_settings

README = (ROOT / "README.md").read_text("utf-8")
PLACEHOLDER = re.compile(r"'paste the (link|code) of the mail ([a-z-]+)'")
BASE = "http://127.0.0.1:8000"
DONE = "-- done --"
PROVIDERS = "Sign in with Google, GitHub or your own OpenID provider"


def blocks(heading: str, language: str = "sh") -> list[str]:
    """Give the commands under a heading, or what is written there in another language."""
    section = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def test_the_table_of_settings_is_that_of_the_program() -> None:
    assert reference.table() in README


class Shell:
    """A shell that lives through all blocks, so that its variables do, as in a terminal."""

    def __init__(self) -> None:
        self.process: Any = subprocess.Popen(
            ["bash", "-eu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def type(self, block: str) -> str:
        """Run a block; give what it printed."""
        self.process.stdin.write(f"{block}\necho; echo '{DONE}'\n")
        self.process.stdin.flush()
        return "".join(iter(self.process.stdout.readline, f"{DONE}\n"))

    def leave(self) -> int:
        """End the shell; give its exit status."""
        self.process.communicate()
        return int(self.process.returncode)


def as_printed(live: LiveService, block: str) -> str:
    """Give a block with what the mails said that the service printed, and the address and Python it really has."""

    def mailed(placeholder: re.Match[str]) -> str:
        kind, template = placeholder.groups()
        found = live.output.wait_for(rf"^mail: {template} [^\n]*\n.*?^{kind} +(?:\S+?//[^/]+)?(\S+)$")
        return f"'{live.url if kind == 'link' else ''}{found[1]}'"

    return PLACEHOLDER.sub(mailed, block).replace(BASE, live.url).replace(".venv/bin/python", sys.executable)


def follow(heading: str, directory: Path, port: int = 0, **settings: str) -> list[str]:
    """Type the commands under a heading one block after the other; give what each printed."""
    shell = Shell()
    printing = {"mail.sender": "console", "password_reset.sender": "console"}
    with serving(directory, {**printing, **settings}, port=port) as live:
        printed = [shell.type(as_printed(live, block)) for block in blocks(heading)]
    assert shell.leave() == 0
    return printed


def test_the_first_steps_work(tmp_path: Path) -> None:
    answers = [
        [json.loads(line) for line in printed.splitlines() if line]
        for printed in follow("First steps with curl", tmp_path)
    ]

    signed_up, verified, looked, ended, forgot, reset, returned, moving, moved, left = answers
    assert signed_up[0]["user"]["emailVerified"] is False
    assert verified[0]["user"]["emailVerified"] is True
    assert looked[0]["user"]["email"] == "ada@example.com"
    assert len(looked[1]) == 3
    assert ended == [
        {"success": True, "status": True},
        {"status": True, "count": 1},
        {"message": "Unauthorized", "code": "UNAUTHORIZED"},
    ]
    assert (forgot[0], reset[0]["status"]) == ({"status": True}, True)
    assert returned[0]["user"]["email"] == "ada@example.com"
    assert moving[0]["message"] == "Email updated"
    assert moved[0]["user"]["email"] == "countess@example.com"
    assert left == [
        {"success": True, "message": "User deleted"},
        {"message": "Unauthorized", "code": "UNAUTHORIZED"},
    ]


def test_two_factor_is_turned_on_as_it_says(tmp_path: Path) -> None:
    enabled, confirmed, by_app, _, by_mail, by_backup, trusted, disabled = follow(
        "Turn on two-factor", tmp_path
    )

    assert "otpauth://totp/" in enabled
    assert confirmed.startswith('{"status":true')
    assert by_app.startswith('{"message":"Unauthorized"')
    assert '{"status":true,"token":"' in by_app
    assert by_mail.startswith('{"token":"')
    assert "service.trust-device=" in by_backup
    assert "service.session-token=" in trusted
    assert disabled.startswith('{"status":true}')
    assert "pending" not in disabled


def test_a_provider_is_tried_as_it_says(tmp_path: Path, provider: ProviderProcess) -> None:
    provider.reset()
    port = free_port()
    settings = {
        **social_settings(provider),
        "base_url": f"http://127.0.0.1:{port}",
        "session.cookie_secure": "false",
    }

    came_back, looked, again = follow(
        "Try a provider without an account anywhere", tmp_path, port, **settings
    )

    session, accounts, tokens, renewed = (json.loads(line) for line in looked.splitlines() if line)
    refused, kept = (line for line in again.splitlines() if line)
    assert came_back.strip() == f"302 http://127.0.0.1:{port}/welcome"
    assert session["user"]["email"] == "ada@example.com"
    assert [account["providerId"] for account in accounts] == ["test"]
    assert tokens["accessToken"] != renewed["accessToken"]
    assert refused.startswith(f"302 http://127.0.0.1:{port}/error?error=state_mismatch")
    assert json.loads(kept)["code"] == "FAILED_TO_UNLINK_LAST_ACCOUNT"


def test_the_tables_of_providers_are_settings_of_the_program(tmp_path: Path) -> None:
    [table] = blocks(PROVIDERS, "toml")
    (tmp_path / "gatewright.toml").write_text(table, "utf-8")

    settings = profiles.load({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert list(settings.providers) == ["google", "github", "company", "forge"]


def test_the_variables_of_a_provider_are_settings_of_the_program(tmp_path: Path) -> None:
    secret = tmp_path / "google"
    secret.write_text("of-your-own", "utf-8")
    variables = dict(re.findall(r"^export (\w+)=(\S+)$", blocks(PROVIDERS)[0], re.MULTILINE))
    variables["GATEWRIGHT_PROVIDERS__GOOGLE__CLIENT_SECRET_FILE"] = str(secret)

    settings = profiles.load({"GATEWRIGHT_PROFILE": "development", **variables}, tmp_path)

    google = settings.providers["google"]
    assert (google.preset, secret_of(google.client_secret)) == ("google", "of-your-own")


def test_every_preset_has_its_line() -> None:
    section = README.partition(f"## {PROVIDERS}\n")[2].partition("\n## ")[0]

    assert re.findall(r"^\| `([a-z]+)` \| [^|]*(?:User settings|\[)", section, re.MULTILINE) == list(PRESETS)
