"""What a service loads, and what it does without: each name here was megabytes and a part of every start."""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import run
from textwrap import dedent
from types import ModuleType

from server.imports import without
from tests.service import close_service, environment, open_service

ROOT = Path(__file__).parents[2]

SPARED = (
    "aiosmtplib",
    "alembic",
    "argparse",
    "asgiref.sync",
    "asyncpg",
    "attr.validators",
    "authlib",
    "bz2",
    "click",
    "colorama",
    "configparser",
    "ctypes",
    "difflib",
    "dotenv",
    "email.message",
    "email.parser",
    "email.policy",
    "flask",
    "html",
    "http.client",
    "httpx",
    "idna",
    "importlib.metadata",
    "importlib_resources",
    "jinja2",
    "joserfc",
    "logging.config",
    "logging.handlers",
    "lzma",
    "multiprocessing",
    "nacl",
    "openapi_spec_validator",
    "opentelemetry.sdk",
    "passlib.handlers.bcrypt",
    "prometheus_client",
    "pydantic_settings.sources.providers.cli",
    "python_multipart",
    "redis",
    "requests",
    "rfc3339_validator",
    "rich",
    "server.cli.doctor",
    "server.cli.import_users",
    "six",
    "socketserver",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.ext.asyncio.scoping",
    "sqlalchemy.orm.scoping",
    "starlette.formparsers",
    "starlette.templating",
    "starlette.testclient",
    "urllib.request",
    "werkzeug.http",
    "zipfile",
)
"""Of no use to a service on SQLite that finds its schema, sends no mail, and has no providers, metrics or traces."""

NO_MAIL = {"mail.sender": "none", "password_reset.sender": "none"}

START = """
import asyncio, sys
from server.imports import libraries
from server.cli import main as cli
from server.app import assemble
from server.cli import check_config
from server.services import Services
from starlette.exceptions import HTTPException

async def start():
    services = Services(check_config.read())
    assemble(services)
    await services.open("check")
    await services.start()
    await services.hasher.hash("correct horse battery")
    assert HTTPException(405).detail == "Method Not Allowed"
    await services.close()

cli.load_command("serve")
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
            env={**os.environ, **settings, "PYTHONPATH": str(ROOT), "PYDANTIC_DISABLE_PLUGINS": "__all__"},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.stdout == "loaded: connexion\n", done.stderr


class TestPostgresql:
    def test_brings_neither_a_second_pool_nor_other_drivers(self) -> None:
        said = _run(
            """
            from server.imports import libraries
            from server.database.postgresql import engine
            import asyncpg
            known = "asyncpg.pool", "configparser", "getpass", "sqlalchemy.dialects.postgresql.pg8000"
            print(*(name for name in known if name in sys.modules), asyncpg.connect_utils.getpass.getpass.__name__)
            """
        )

        assert said == "unix_getpass\n"


class TestWithout:
    def test_modules_are_missing_or_hollow_inside_only(self) -> None:
        with without("this", hollow={"antigravity": ("fly",), "__hello__": {"main": 1}}):
            absent, there, given = (sys.modules[name] for name in ("this", "antigravity", "__hello__"))

        assert absent is None
        assert isinstance(there, ModuleType)
        assert isinstance(there.fly, type)
        assert given.main == 1
        assert not {"this", "antigravity", "__hello__"} & set(sys.modules)

    def test_what_has_been_imported_stays(self) -> None:
        with without("os", hollow={"sys": ()}, late={"asyncio.tasks": ()}):
            kept = sys.modules["os"], sys.modules["sys"], asyncio.tasks

        assert kept == (os, sys, sys.modules["asyncio.tasks"])


class TestLate:
    """In a process of its own each: what has been loaded once stays loaded."""

    def test_a_module_is_loaded_when_one_of_its_functions_is_called(self) -> None:
        said = _run(
            """
            with without(late={"colorsys": ("rgb_to_hls",), "wave": ()}):
                from colorsys import rgb_to_hls
                import wave
            print("colorsys" in sys.modules, rgb_to_hls(0, 0, 0), "colorsys" in sys.modules, "wave" in sys.modules)
            """
        )

        assert said == "False (0.0, 0.0, 0.0) True False\n"

    def test_and_when_something_else_in_it_is_asked_for(self) -> None:
        said = _run(
            """
            with without(late={"colorsys": ()}):
                import colorsys
            print("colorsys" in sys.modules, colorsys.ONE_THIRD * 3, "colorsys" in sys.modules)
            """
        )

        assert said == "False 1.0 True\n"

    def test_a_library_that_needs_it_at_once_gets_the_real_one(self) -> None:
        said = _run(
            """
            with without(late={"colorsys": ("rgb_to_hls",)}):
                from colorsys import ONE_THIRD
                import colorsys
            print(ONE_THIRD * 3, colorsys is sys.modules["colorsys"])
            """
        )

        assert said == "1.0 True\n"

    def test_what_is_given_for_a_name_needs_no_loading(self) -> None:
        said = _run(
            """
            with without(late={"colorsys": {"ONE_THIRD": 0.3}}):
                import colorsys
            print(colorsys.ONE_THIRD, "colorsys" in sys.modules, colorsys.ONE_SIXTH * 6, "colorsys" in sys.modules)
            """
        )

        assert said == "0.3 False 1.0 True\n"

    def test_a_module_of_a_package_is_found_in_the_package(self) -> None:
        said = _run(
            """
            with without(late={"wsgiref.util": ()}):
                import wsgiref.util
            print("wsgiref.util" in sys.modules, wsgiref.util.guess_scheme({}))
            """
        )

        assert said == "False http\n"


def _run(code: str) -> str:
    beginning = "import sys; from server.imports import without\n"
    done = run(
        [sys.executable, "-c", beginning + dedent(code)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout
