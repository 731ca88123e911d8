"""Databases to import from, made by the real programs, installed into build/ when a test needs them."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.live import ROOT

HERE = Path(__file__).parent
BUILD = ROOT / "build"
TIME_LIMIT = 600.0
SECRET = "the-secret-of-better-auth-which-is-long-enough"
PASSWORD = "Pässword ① correct horse"
"""NFKC changes it: whoever hashed it as it is typed has another hash than who normalized it first."""


def better_auth(url: str) -> dict[str, str]:
    """Fill an empty database by Better Auth; give the ids by name, and the address of Ada's authenticator."""
    assert shutil.which("npm"), (
        "Node.js 20 or newer with npm is needed: on Debian, apt-get install nodejs npm"
    )
    install = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    folder = _installed("better_auth", "package.json", install)
    return _json(["node", "fill.mjs"], folder, DATABASE_URL=url, BETTER_AUTH_SECRET=SECRET, PASSWORD=PASSWORD)


def fastapi_users(url: str) -> dict[str, str]:
    """Fill an empty database by fastapi-users; give the ids by name."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install = [*pip, "--target", "packages", "--requirement", "requirements.txt"]
    folder = _installed("fastapi_users", "requirements.txt", install)
    driver = url.replace("sqlite:", "sqlite+aiosqlite:").replace("postgresql:", "postgresql+asyncpg:")
    return _json([sys.executable, "fill.py", driver, PASSWORD], folder, PYTHONPATH=str(folder / "packages"))


def _installed(name: str, wanted: str, command: list[str]) -> Path:
    """Give a folder with the files of `name` and the packages it asks for, installed once."""
    folder, files = BUILD / f"import_{name}", HERE / name
    done = folder / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Tests in several processes install into one folder.
        for file in files.iterdir():
            copy = folder / file.name
            if file.is_file() and not (copy.exists() and copy.read_bytes() == file.read_bytes()):
                shutil.copy(file, folder)
        if not done.exists() or done.read_text("utf-8") != (files / wanted).read_text("utf-8"):
            subprocess.run(command, cwd=folder, check=True, timeout=TIME_LIMIT)
            shutil.copy(files / wanted, done)
    return folder


def _json(command: list[str], folder: Path, **variables: str) -> dict[str, Any]:
    run = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, check=False, capture_output=True, text=True,
        timeout=TIME_LIMIT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    printed: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return printed
