"""Databases to import from, made by the real programs, installed into build/ when a test needs them."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import cbor2

from tests import packages
from tests.authenticator import BE, BS, UP, UV, Authenticator, base64url
from tests.postgres import Cluster

HERE = Path(__file__).parent
TIME_LIMIT = 600.0

Filled = dict[str, tuple[str, dict[str, str]]]
"""Databases by name: the address of each, and what a test must know of the users in it."""

SECRET = "the-secret-of-better-auth-which-is-long-enough"
PASSWORD = "Pässword ① correct horse"
"""NFKC changes it: whoever hashed it as it is typed has another hash than who normalized it first."""


PASSKEY = Authenticator(flags=UP | UV | BE | BS, counter=6, user_handle=b"random")
"""The authenticator of Bob, who signed in five times."""


def empty(cluster: Cluster, directory: Path) -> dict[str, str]:
    """Return the address of an empty database of either kind."""
    return {"sqlite": f"sqlite:///{directory / 'users.db'}", "postgresql": cluster.create()}


def better_auth(urls: Mapping[str, str]) -> Filled:
    """Fill empty databases by Better Auth; of each the ids by name, and the address of Ada's authenticator."""
    folder = packages.better_auth(HERE / "better_auth")
    variables = {"BETTER_AUTH_SECRET": SECRET, "PASSWORD": PASSWORD, "DATABASE_URLS": " ".join(urls.values())}
    stored = {
        "credentialID": base64url(PASSKEY.credential_id),
        "publicKey": base64.b64encode(cbor2.dumps(PASSKEY.cose_key)).decode(),
        "transports": "internal,hybrid",
        "aaguid": "00000000-0000-0000-0000-000000000000",
    }
    variables["PASSKEY"] = json.dumps(stored)
    return _filled(urls, ["node", "fill.mjs"], folder, variables)


def fastapi_users(urls: Mapping[str, str]) -> Filled:
    """Fill empty databases by fastapi-users; of each the ids by name."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install = [*pip, "--no-compile", "--target", "packages", "--requirement", "requirements.txt"]
    folder = packages.installed("fastapi_users", HERE / "fastapi_users" / "requirements.txt", install)
    drivers = [
        url.replace("sqlite:", "sqlite+aiosqlite:").replace("postgresql:", "postgresql+asyncpg:")
        for url in urls.values()
    ]
    command = [sys.executable, str(HERE / "fastapi_users" / "fill.py"), PASSWORD, *drivers]
    return _filled(urls, command, folder, {"PYTHONPATH": str(folder / "packages")})


def django(file: Path) -> str:
    """Fill a SQLite database by Django, django-allauth and django-otp; return its address."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install = [*pip, "--no-compile", "--target", "packages", "--requirement", "requirements.txt"]
    folder = packages.installed("django_app", HERE / "django_app" / "requirements.txt", install)
    command = [sys.executable, str(HERE / "django_app" / "fill.py"), PASSWORD, str(file)]
    run = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder / "packages")}, check=False,
        capture_output=True, text=True, timeout=TIME_LIMIT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return f"sqlite:///{file}"


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
