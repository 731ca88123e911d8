"""A guide under docs/pages/guides as a test reads it: the files it shows, and the commands it has typed."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.live import ROOT

GUIDES = ROOT / "docs" / "pages" / "guides"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
TIME_LIMIT = 600.0
"""Seconds for a command to end; the longest fetches packages."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its language, its title, which is a file's name or a name for commands, and what it holds."""

    language: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Guide:
    """The blocks of one guide, in their order."""

    blocks: tuple[Block, ...]

    def commands(self, title: str) -> str:
        """Give the commands of this title. Raises ValueError unless there is one such block."""
        [block] = [each for each in self.blocks if (each.language, each.title) == ("sh", title)]
        return block.text

    def write(self, directory: Path) -> None:
        """Write every file that the guide shows into a folder."""
        for block in self.blocks:
            if block.language != "sh" and block.title:
                place = directory / block.title
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("w", encoding="utf-8") as file:
                    file.write(block.text)


def read(name: str) -> Guide:
    """Give the guide of this name."""
    text = (GUIDES / f"{name}.md").read_text("utf-8")
    return Guide(tuple(Block(*found) for found in BLOCK.findall(text)))


def surroundings(**variables: str) -> dict[str, str]:
    """Give the environment of what a guide has typed: this project's programs, and no settings of the service."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GATEWRIGHT_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONUNBUFFERED": "1", **variables}


def at(text: str, places: Mapping[str, str]) -> str:
    """Give commands with the addresses and folders that a test has, for those that the guide names."""
    for named, real in places.items():
        text = text.replace(named, real)
    return text


def typed(commands: str, directory: Path, **variables: str) -> str:
    """Type commands into a shell; give what they printed. What they complained of is the text of the failure."""
    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=directory, env=surroundings(**variables), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, f"{commands}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout
