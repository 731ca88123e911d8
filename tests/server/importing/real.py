"""Databases to import from, made by the real programs, installed into build/ when a test needs them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.live import ROOT
from tests.postgres import Cluster

HERE = Path(__file__).parent
BUILD = ROOT / "build"
TIME_LIMIT = 600.0

Filled = dict[str, tuple[str, dict[str, str]]]
"""Databases by name: the address of each, and what a test must know of the users in it."""

SECRET = "the-secret-of-better-auth-which-is-long-enough"
PASSWORD = "Pässword ① correct horse"
"""NFKC changes it: whoever hashed it as it is typed has another hash than who normalized it first."""


def empty(cluster: Cluster, directory: Path) -> dict[str, str]:
    """Give the address of an empty database of either kind."""
    return {"sqlite": f"sqlite:///{directory / 'users.db'}", "postgresql": cluster.create()}


def better_auth(urls: Mapping[str, str]) -> Filled:
    """Fill empty databases by Better Auth; of each the ids by name, and the address of Ada's authenticator."""
    assert shutil.which("npm"), (
        "Node.js 20 or newer with npm is needed: on Debian, apt-get install nodejs npm"
    )
    install = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    folder = _installed("better_auth", "package.json", install)
    variables = {"BETTER_AUTH_SECRET": SECRET, "PASSWORD": PASSWORD, "DATABASE_URLS": " ".join(urls.values())}
    return _filled(urls, ["node", "fill.mjs"], folder, variables)


def fastapi_users(urls: Mapping[str, str]) -> Filled:
    """Fill empty databases by fastapi-users; of each the ids by name."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install = [*pip, "--target", "packages", "--requirement", "requirements.txt"]
    folder = _installed("fastapi_users", "requirements.txt", install)
    drivers = [
        url.replace("sqlite:", "sqlite+aiosqlite:").replace("postgresql:", "postgresql+asyncpg:")
        for url in urls.values()
    ]
    command = [sys.executable, "fill.py", PASSWORD, *drivers]
    return _filled(urls, command, folder, {"PYTHONPATH": str(folder / "packages")})


def _installed(name: str, wanted: str, command: list[str]) -> Path:
    """Give a folder with the files of `name` and the packages it asks for, installed once."""
    folder, files = BUILD / f"import_{name}", HERE / name
    done = folder / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    for file in files.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    if not done.exists() or done.read_text("utf-8") != (files / wanted).read_text("utf-8"):
        subprocess.run(command, cwd=folder, check=True, timeout=TIME_LIMIT)
        shutil.copy(files / wanted, done)
    return folder


def _filled(
    urls: Mapping[str, str], command: list[str], folder: Path, variables: Mapping[str, str]
) -> Filled:
    run = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, check=False, capture_output=True, text=True,
        timeout=TIME_LIMIT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    known: list[dict[str, str]] = json.loads(run.stdout.splitlines()[-1])
    return {name: (url, each) for (name, url), each in zip(urls.items(), known, strict=True)}
