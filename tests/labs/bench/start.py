"""`python -m tests.labs.bench.start`: the processor time and the memory of a start, and of its parts.

First `gatewright serve` is started a few times on SQLite with all capabilities on, and on PostgreSQL. Then one process
does the same step by step. Libraries are imported one after the other, so each row is what a library adds to those
above it. Memory is the resident set: a part that is freed later leaves its pages to the parts after it.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

LIBRARIES = {
    "asyncio, ssl, uvloop": ("asyncio", "ssl", "uvloop"),
    "structlog, rich": ("structlog",),
    "SQLAlchemy": ("sqlalchemy", "sqlalchemy.orm", "sqlalchemy.dialects.postgresql"),
    "pydantic, SQLModel": ("sqlmodel",),
    "cryptography": ("cryptography.fernet",),
    "HTTPX, Starlette, Jinja2, PyYAML": ("httpx", "starlette.testclient", "jinja2", "yaml"),
    "Connexion, with requests, Werkzeug and jsonschema": ("connexion",),
    "jsonschema-rs": ("jsonschema_rs",),
    "uvicorn": ("uvicorn.config",),
    "the tables": ("models",),
    "rules, handlers and server": ("server.cli.serve",),
}
"""The parts of the program in the order in which they are imported, and the modules that load each."""

EVERYTHING = {
    "GATEWRIGHT_OAUTH__ENABLED": "true",
    "GATEWRIGHT_OAUTH__CLIENT_MANAGEMENT": "admin",
    "GATEWRIGHT_OAUTH__REGISTRATION": "token",
    "GATEWRIGHT_OAUTH__DEVICE__ENABLED": "true",
    "GATEWRIGHT_ORGANIZATIONS__ENABLED": "true",
    "GATEWRIGHT_ORGANIZATIONS__TEAMS__ENABLED": "true",
    "GATEWRIGHT_WEBHOOKS__ENABLED": "true",
    "GATEWRIGHT_WEBHOOKS__MANAGEMENT": "admin",
}
"""The capabilities that the development profile does not turn on."""


def main(starts: Annotated[int, typer.Option(min=1, help="Starts of each service.")] = 5) -> None:
    """Measure starts, then their parts."""
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-start-")))
        _starts("SQLite", f"sqlite:///{directory}/start.db", directory, starts)
        cluster = import_module("tests.postgres").Cluster(None)
        cluster.start()
        ends.callback(cluster.stop)
        _starts("PostgreSQL", cluster.create(), directory, starts)
        sys.stdout.flush()
        # In a process of its own, because this one has loaded most of it.
        subprocess.run(
            [sys.executable, "-m", __spec__.name, "--parts"],
            env={
                **os.environ,
                **EVERYTHING,
                "GATEWRIGHT_PROFILE": "development",
                "GATEWRIGHT_DATABASE_URL": f"sqlite:///{directory}/start.db",
                "PYTHONPATH": str(Path(__file__).parents[3]),
            },
            cwd=directory / "SQLite",
            check=True,
        )


def _starts(name: str, url: str, directory: Path, starts: int) -> None:
    """Start a service once to get its schema, and then a few times; print the medians."""
    servers, machine = (import_module(f"tests.labs.bench.{each}") for each in ("servers", "machine"))
    server = servers.gatewright(name, url, directory, settings=EVERYTHING)
    spent, held = [], []
    for number in range(starts + 1):
        server.start(machine.choose_cores().server)
        if number:
            spent.append(machine.spent_seconds(server.pid))
            held.append(server.memory_at_start)
        server.stop()
    print(
        f"{name}: {statistics.median(spent):.2f} s of processor time ({min(spent):.2f} at least),"
        f" {statistics.median(held):.0f} MB at the first response"
    )


def parts() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the parts of a start with the function that does each."""
    for name, modules in LIBRARIES.items():
        yield name, partial(list, map(import_module, modules))
    check_config, app = import_module("server.cli.check_config"), import_module("server.app")
    made: dict[str, Any] = {}

    def make(name: str, create: Callable[[], object]) -> None:
        made[name] = create()

    yield "components, settings and their checks", lambda: make("settings", check_config.read)
    yield "the services and their pools", lambda: make("services", lambda: app.Services(made["settings"]))
    yield "the contract and its routes", lambda: make("app", lambda: app.assemble(made["services"]))
    yield "connections and background tasks", lambda: asyncio.run(_open_and_close(made["services"]))


async def _open_and_close(services: Any) -> None:
    await services.open()
    await services.start()
    await services.close()


def print_parts() -> None:
    """Print the table of the parts, measured in this process."""
    warnings.simplefilter("ignore")
    print("\n| Part | ms | MB |\n|---|---|---|")
    print(f"| the interpreter, typer | {time.process_time() * 1000:.0f} | {_resident():.1f} |")
    for name, work in parts():
        began, before = time.process_time(), _resident()
        work()
        print(f"| {name} | {(time.process_time() - began) * 1000:.0f} | {_resident() - before:.1f} |")
    print(f"| together | {time.process_time() * 1000:.0f} | {_resident():.1f} |")


def _resident() -> float:
    """Return the resident set of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    if "--parts" in sys.argv:
        print_parts()
    else:
        typer.run(main)
