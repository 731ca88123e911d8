"""What a service loads, and what it does without: each name here was megabytes and a part of every start."""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import run
from types import ModuleType

from server.imports import without
from tests.service import close_service, environment, open_service

ROOT = Path(__file__).parents[2]

SPARED = (
    "aiosmtplib",
    "alembic",
    "asyncpg",
    "authlib",
    "click",
    "email.policy",
    "flask",
    "httpx",
    "idna",
    "jinja2",
    "joserfc",
    "multiprocessing",
    "nacl",
    "openapi_spec_validator",
    "opentelemetry.sdk",
    "passlib.handlers.bcrypt",
    "prometheus_client",
    "redis",
    "requests",
    "rich",
    "server.commands.doctor",
    "server.commands.importing",
    "sqlalchemy.dialects.postgresql",
    "starlette.templating",
    "starlette.testclient",
    "urllib.request",
    "werkzeug.http",
)
"""Of no use to a service on SQLite that finds its schema, sends no mail, and has no providers, metrics or traces."""

NO_MAIL = {"mail.sender": "none", "password_reset.sender": "none"}

START = """
import asyncio, sys
from server import cli
from server.app import assemble
from server.commands import configuration
from server.services import Services

async def start():
    services = Services(configuration.read())
    assemble(services)
    await services.open("check")
    await services.start()
    await services.close()

cli.code("serve")
asyncio.run(start())
print("loaded:", *sorted(set(sys.argv[1:]) & set(sys.modules)))
"""


class TestStart:
    async def test_loads_nothing_that_it_has_no_use_for(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'gatewright.db'}"
        await close_service(await open_service(url, tmp_path, {}))
        settings = environment(url, tmp_path / "mail.jsonl", NO_MAIL)

        done = await asyncio.to_thread(
            run,
            [sys.executable, "-c", START, *SPARED, "connexion"],
            cwd=tmp_path,
            env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.stdout == "loaded: connexion\n", done.stderr


class TestWithout:
    def test_modules_are_missing_or_hollow_inside_only(self) -> None:
        with without("this", hollow={"antigravity": ("fly",)}):
            absent, there = sys.modules["this"], sys.modules["antigravity"]

        assert absent is None
        assert isinstance(there, ModuleType)
        assert there.fly is None
        assert not {"this", "antigravity"} & set(sys.modules)

    def test_what_has_been_imported_stays(self) -> None:
        with without("os", hollow={"sys": ()}):
            kept = sys.modules["os"], sys.modules["sys"]

        assert kept == (os, sys)
