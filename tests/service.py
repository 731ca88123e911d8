"""The service as the tests see it: assembled in this process, every answer checked against the contract."""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import delete, text

from models import metadata
from server.app import assemble, contract
from server.components.jwt import SigningKeyStore
from server.config.base import Settings
from server.config.groups.console import ConsoleSettings
from server.config.groups.jwt import JwtSettings
from server.config.groups.pages import PagesSettings
from server.config.groups.session import SessionSettings
from server.services import Services, load_settings
from tests import settings
from tests.contract.conformance import CheckingTransport, Contract
from tests.discovery import modules

BASE_URL = "http://localhost:8000"
PASSWORD = "correct horse battery"
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of settings such as `session.expires_in`."""
    return {"GATEWRIGHT_" + name.upper().replace(".", "__"): value for name, value in values.items()}


def declared_settings(name: str) -> dict[str, str]:
    """Return the settings that the modules of tests/settings declare by this name, SETTINGS or WITH_MAIL."""
    return {key: value for module in modules(settings) for key, value in getattr(module, name, {}).items()}


CHEAP = variables({"profile": "development", "mail.sender": "file", **declared_settings("SETTINGS")})
"""Environment variables of every service under test: mail goes into a file, and every capability is switched on."""

NEEDED_BY_PROVIDER = frozenset({"profile", "jwt.enabled", "jwt.issuer", "pages.enabled"})
"""Settings by which a test may take away what the OAuth provider needs; it is off then, unless the test sets it."""

WITH_MAIL = variables(declared_settings("WITH_MAIL"))
"""Those of services that send mail and are at the usual URL."""

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients that only use HTTP on the loopback: otherwise each reads all certificates of this machine, for 25 ms."""


def mails_in(file: Path) -> list[dict[str, Any]]:
    """Return the mails in a mail file, oldest first; a line without an end is still being written."""
    lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


@dataclass
class MovableClock:
    """A clock that stands still until a test moves it."""

    now: datetime = START

    def __call__(self) -> datetime:
        """Return the present moment of this test."""
        return self.now

    def advance(self, **time: float) -> None:
        """Advance the clock."""
        self.now += timedelta(**time)


@dataclass
class Service:
    """One assembled service with its clock, its mail file and its checked client."""

    services: Services
    clock: MovableClock
    mail_file: Path
    client: httpx.AsyncClient
    seen: int = field(default=0)

    async def reset(self) -> None:
        """Empty the database and the mail file, and set the clock back."""
        await self.services.audit_writer.flush()
        async with self.services.database.begin() as db:
            if db.dialect == "postgresql" and (await db.execute(_CROWD)).first():
                # Deleted one by one, each of many users would be looked for in every table that refers to them.
                await db.execute(text('TRUNCATE "user" CASCADE'))
            for statement in _EMPTY:
                await db.execute(statement)
            await db.commit()
        self.mail_file.unlink(missing_ok=True)
        self.clock.now = START
        if self.services.limiter is not None:
            self.services.limiter.windows.clear()
        self.client.cookies.clear()

    async def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """POST a JSON body."""
        return await self.client.post(path, json={} if body is None else body, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        """GET without following redirects."""
        return await self.client.get(path, **options)

    async def inbox(self, to: str | None = None, template: str | None = None) -> list[dict[str, Any]]:
        """Deliver what is due now, and give the mails so far, oldest first."""
        await self.services.worker.drain()
        mails = mails_in(self.mail_file)
        return [m for m in mails if to in (None, m["to"]) and template in (None, m["template"])]

    async def rows(self, statement: str, **values: Any) -> list[Any]:
        """Read from the database directly."""
        async with self.services.database.begin() as db:
            return list(await db.execute(text(statement), **values))


_CROWD = text('SELECT id FROM "user" OFFSET 1000 LIMIT 1')
_EMPTY = [delete(table) for table in reversed(metadata.sorted_tables)]


def environment(database_url: str, mail_file: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a service under test; `overrides` are settings such as `session.expires_in`."""
    places = variables({"database_url": database_url, "mail.file_path": str(mail_file)})
    sends_mail = overrides.get("mail.sender") != "none" and "base_url" not in overrides
    without = {} if NEEDED_BY_PROVIDER.isdisjoint(overrides) else variables({"oauth.enabled": "false"})
    return {**CHEAP, **(WITH_MAIL if sends_mail else {}), **places, **without, **variables(overrides)}


Peer = tuple[str, int] | None
LOOPBACK: Peer = ("127.0.0.1", 50000)


_REFEREES: dict[tuple[object, ...], Contract] = {}


def _referee(configured: Settings) -> Contract:
    """Return the judge of a contract: most services of the suite have the same one, and bundling one takes half the
    time of opening a service."""
    session = configured[SessionSettings]
    key = (
        session.cookie_name,
        session.cookie_prefix,
        configured.base_path,
        configured[PagesSettings].path,
        configured[ConsoleSettings].path,
        configured.require_current_password,
    )
    if key not in _REFEREES:
        _REFEREES[key] = Contract(contract(configured))
    return _REFEREES[key]


async def open_service(
    database_url: str, directory: Path, overrides: Mapping[str, str], *, peer: Peer = LOOPBACK
) -> Service:
    """Assemble and open a service on an existing empty database; `peer` is the other end of its client's socket."""
    clock = MovableClock()
    mail_file = directory / "mail.jsonl"
    configured = load_settings(environment(database_url, mail_file, overrides), directory)
    services = Services(configured, clock=clock)
    app = assemble(services)
    await services.open()
    if configured[JwtSettings].enabled:
        await services.port[SigningKeyStore].prepare()
    checked = CheckingTransport(
        httpx.ASGITransport(app, client=peer),  # type: ignore[arg-type]  # a Unix socket has no other end
        _referee(configured),
    )
    client = httpx.AsyncClient(transport=checked, base_url=BASE_URL + services.policy.base_path)
    return Service(services, clock, mail_file, client)


async def close_service(service: Service) -> None:
    """Close what `open_service` opened."""
    await service.client.aclose()
    await service.services.close()


@asynccontextmanager
async def running_service(
    database_url: str, directory: Path, overrides: Mapping[str, str]
) -> AsyncIterator[Service]:
    """Yield a service on an existing database, and close it at the end."""
    service = await open_service(database_url, directory, overrides)
    try:
        yield service
    finally:
        await close_service(service)
