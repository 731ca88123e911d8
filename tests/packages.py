"""Packages of other people that tests need, fetched once into build/ by whoever comes first."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.live import ROOT

TIME_LIMIT = 600.0
NPM = (
    "npm",
    "install",
    "--no-package-lock",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
)


def from_npm(name: str, package: Path) -> Path:
    """Return build/<name>, in whose node_modules is what a package.json asks for; scripts in folders below find it."""
    assert shutil.which("npm"), (
        "Node.js 20 or newer with npm is needed: on Debian, apt-get install nodejs npm"
    )
    return installed(name, package, NPM)


def better_auth(scripts: Path) -> Path:
    """Return a folder with scripts that find the packages of Better Auth."""
    packages = from_npm("better_auth", ROOT / "tests" / "better_auth" / "package.json")
    return Path(shutil.copytree(scripts, packages / scripts.name, dirs_exist_ok=True))


def oasdiff(environment: Mapping[str, str]) -> str:
    """Return the path of oasdiff for a process with these variables; skip the test where it cannot even be built."""
    return _built("oasdiff", environment)


def helm() -> str:
    """Return the path of Helm; skip the test where it cannot even be built."""
    return _built("helm", os.environ)


def _built(name: str, environment: Mapping[str, str]) -> str:
    """Return the path of a Go program, which a script in .ci builds where it is not there."""
    script = ROOT / ".ci" / f"{name}.sh"
    if subprocess.run([script, "--can"], env=environment, check=False).returncode != 0:
        pytest.skip(f"{name} is not there, nor a Go that can build it; GATEWRIGHT_{name.upper()} may name it")
    finished = subprocess.run(
        [script], env=environment, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def installed(name: str, wanted: Path, command: Sequence[str]) -> Path:
    """Return build/<name> with a copy of the file `wanted`, and what the command makes of it there."""
    folder = ROOT / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_bytes() != wanted.read_bytes():
            shutil.copy(wanted, folder)
            finished = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=TIME_LIMIT, check=False,
            )  # fmt: skip
            assert finished.returncode == 0, finished.stdout + finished.stderr
            shutil.copy(wanted, done)
    return folder
