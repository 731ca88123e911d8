"""What README.md shows is true: its table of settings is the settings, and its first steps work as they are written."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from server.commands import reference
from tests.live import ROOT, LiveService, serving

README = (ROOT / "README.md").read_text("utf-8")
FIRST_STEPS = README.partition("## First steps with curl")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```sh\n(.*?)```", FIRST_STEPS, re.DOTALL)
PLACEHOLDER = re.compile(r"'paste the link of the mail ([a-z-]+)'")
BASE = "http://127.0.0.1:8000"
DONE = "-- done --"


def test_the_table_of_settings_is_that_of_the_program() -> None:
    assert reference.table() in README


class Shell:
    """A shell that lives through all blocks, so that its variables do, as in a terminal."""

    def __init__(self) -> None:
        self.process: Any = subprocess.Popen(
            ["bash", "-eu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def type(self, block: str) -> list[Any]:
        """Run a block; give the JSON answers it printed."""
        self.process.stdin.write(f"{block}\necho '{DONE}'\n")
        self.process.stdin.flush()
        lines = iter(self.process.stdout.readline, f"{DONE}\n")
        return [json.loads(line) for line in lines if line.strip()]

    def leave(self) -> int:
        """End the shell; give its exit status."""
        self.process.communicate()
        return int(self.process.returncode)


def as_printed(live: LiveService, block: str) -> str:
    """Give a block with the links of the mails that the service printed, and the address it really has."""

    def link(placeholder: re.Match[str]) -> str:
        found = live.output.wait_for(rf"^mail: {placeholder[1]} [^\n]*\n.*?^link +\S+?//[^/]+(/\S+)$")
        return f"'{live.url}{found[1]}'"

    return PLACEHOLDER.sub(link, block).replace(BASE, live.url)


def test_the_first_steps_work(tmp_path: Path) -> None:
    shell = Shell()
    with serving(tmp_path, {"mail.sender": "console", "password_reset.sender": "console"}) as live:
        answers = [shell.type(as_printed(live, block)) for block in BLOCKS]

    signed_up, verified, looked, ended, forgot, reset, returned, moving, moved, left = answers
    assert shell.leave() == 0
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
