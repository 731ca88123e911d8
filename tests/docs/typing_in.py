"""A document of the project as a reader follows it: its commands typed into a shell, its files written."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live import ROOT, LiveService, serving

README = ROOT / "README.md"
PAGES = ROOT / "docs" / "pages"
BASE = "http://localhost:8000"
BIN = Path(sys.executable).parent
DONE = "-- done --"
_PLACEHOLDER = re.compile(r"'paste the (link|code) of the mail ([a-z-]+)'")
_PROGRAM = re.compile(r"(?<![\w/])\.venv/bin/")
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)

TIME_LIMIT = 600.0
"""Seconds for a command to end; the longest fetches packages."""

SPARING = {"PIP_NO_COMPILE": "1", "npm_config_prefer_offline": "true"}
"""What saves the installers of packages work that no test looks at."""

Places = Mapping[str, str]
"""What a document names, and what stands for it in a test: addresses and folders."""
NOTHING: Places = {}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document; `title` is the name of a file it shows, or a name for commands, or empty."""

    language: str
    title: str
    text: str


def guide(name: str) -> str:
    """Return the text of a guide."""
    return (PAGES / "guides" / f"{name}.md").read_text("utf-8")


def section(document: Path, heading: str) -> str:
    """Return the text of a section of a document."""
    return document.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]


def first_steps() -> str:
    """Return the steps of the quick start."""
    return section(PAGES / "quick-start.md", "First steps with curl")


def blocks(text: str, *languages: str) -> list[Block]:
    """Return the blocks of a document, or those in certain languages; commands to be typed are in `sh`."""
    every = [Block(*found) for found in _BLOCK.findall(text)]
    return [block for block in every if not languages or block.language in languages]


def commands(text: str, title: str) -> str:
    """Return the commands of this title. Raises ValueError unless there is one such block."""
    [block] = [each for each in blocks(text, "sh") if each.title == title]
    return block.text


def write_files(text: str, directory: Path) -> None:
    """Write every file that a document shows into a folder."""
    for block in blocks(text):
        if block.language != "sh" and block.title:
            place = directory / block.title
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.text, "utf-8")


def surroundings(variables: Places = NOTHING) -> dict[str, str]:
    """Return the environment of an application beside the service: this project's programs, and these variables."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {**_inherited(), "PATH": path, "PYTHONUNBUFFERED": "1", **variables}


def _inherited() -> dict[str, str]:
    """Return this process's variables, without settings of the service."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GATEWRIGHT_")}


def typed(script: str, directory: Path) -> str:
    """Type commands into a shell of their own, which finds this project's programs; give what they printed.

    Raises AssertionError if one of them failed.
    """
    shell = Shell(directory, surroundings())
    printed = shell.type(script)
    assert shell.leave() == 0, printed
    return printed


class Shell:
    """A shell that lives through all blocks, so that its variables do, as in a terminal."""

    def __init__(self, directory: Path, variables: Mapping[str, str] = NOTHING) -> None:
        self.process: Any = subprocess.Popen(
            ["bash", "-euo", "pipefail"], cwd=directory, env={**_inherited(), **variables},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def type(self, commands: str) -> str:
        """Run commands; give what they printed. Raises AssertionError if one of them failed."""
        self.process.stdin.write(f"{commands}\necho; echo '{DONE}'\n")
        self.process.stdin.flush()
        printed: list[str] = []
        for line in iter(self.process.stdout.readline, f"{DONE}\n"):
            if not line:  # The shell has ended, since a command failed.
                self.leave()
                raise AssertionError(f"{commands}\n{''.join(printed)}")
            printed.append(line)
        return "".join(printed)

    def write(self, block: Block) -> None:
        """Write the file a block shows, where the shell stands."""
        place = Path(self.type("pwd").strip()) / block.title
        place.write_text(block.text, "utf-8")

    def leave(self) -> int:
        """End the shell; give its exit status."""
        self.process.communicate()
        return int(self.process.returncode)


def as_printed(live: LiveService, text: str, since: int = 0) -> str:
    """Return commands with what the mails said that the service printed, after its first lines `since`."""

    def mailed(placeholder: re.Match[str]) -> str:
        kind, template = placeholder.groups()
        value = r"https?://[^/]+(\S+)" if kind == "link" else r"code +(\S+)"
        found = live.output.wait_for(rf"^── email: {template} [^\n]*\n.*?^{value}$", since)
        return f"'{live.url if kind == 'link' else ''}{found[1]}'"

    return _PLACEHOLDER.sub(mailed, text)


def placed(text: str, places: Places) -> str:
    """Return commands with the addresses and folders that a test has, and the programs of this environment."""
    for named, real in places.items():
        text = text.replace(named, real)
    return _PROGRAM.sub(f"{BIN}/", text)


def follow(
    text: str, directory: Path, settings: Places = NOTHING, *, port: int = 0, places: Places = NOTHING
) -> list[str]:
    """Follow a document beside a service that has its data in `directory`; give what each block of commands printed."""
    printing = {"mail.sender": "console"}
    with serving(directory, {**printing, **settings}, port=port) as live:
        return walk(text, live, ROOT, {BASE: live.url, **places})


def walk(text: str, live: LiveService, start: Path, places: Places) -> list[str]:
    """Type the commands of a document, beginning in the folder `start`, and write its files; give what was printed."""
    shell = Shell(start, {"GATEWRIGHT_PROFILE": "development", **SPARING})
    printed, since = [], len(live.output.lines)
    for block in blocks(text):
        if block.title:
            shell.write(Block(block.language, block.title, placed(block.text, places)))
        elif block.language == "sh":
            printed.append(shell.type(placed(as_printed(live, block.text, since), places)))
    assert shell.leave() == 0, "".join(printed)
    return printed
