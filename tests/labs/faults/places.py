"""A service as an operator has it: a folder and a database that outlive its processes, looked at from outside."""

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyotp
import pytest
from sqlalchemy import Executable, make_url, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from tests.handlers.steps import bearer, token_in
from tests.labs.faults.asking import until
from tests.live import NOTHING, LiveService, serving
from tests.security.second_factor import secret_in
from tests.service import PASSWORD

IS_LONG = bool(os.environ.get("GATEWRIGHT_LONG"))
LONG = pytest.mark.skipif(not IS_LONG, reason="takes long: GATEWRIGHT_LONG=1, as make faults sets it")
DEADLINE = 60.0
"""Seconds for what must happen at some time."""

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
_DEFAULTS = {
    "secrets": "s" * 32,
    "limits.enabled": "false",
    "session.max_per_user": "0",
    "audit.retention": "0",
    "database.timeout": "60s",
    "password.hash_wait": "60s",
}
"""Nothing is counted, and on a slow machine nobody is told to come again later."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service lives, and the address of its database."""

    directory: Path
    url: str

    def settings(self, overrides: Mapping[str, str] = NOTHING) -> dict[str, str]:
        """Return the settings of its processes."""
        return {"database_url": self.url, **_DEFAULTS, **overrides}

    def serving(
        self,
        overrides: Mapping[str, str] = NOTHING,
        *,
        workers: int = 1,
        variables: Mapping[str, str] = NOTHING,
    ) -> AbstractContextManager[LiveService]:
        """Serve here until the end of the block, or until the process is killed."""
        return serving(self.directory, self.settings(overrides), workers=workers, variables=variables)

    async def rows(self, statement: str | Executable) -> list[Any]:
        """Read or write the tables, by a connection of its own."""
        url = make_url(self.url)
        engine = create_async_engine(url.set(drivername=_DRIVERS[url.drivername]), poolclass=NullPool)
        try:
            async with engine.begin() as connection:
                found = await connection.execute(text(statement) if isinstance(statement, str) else statement)
                return list(found.all()) if found.returns_rows else []
        finally:
            await engine.dispose()

    def mails(self, to: str, template: str) -> list[dict[str, Any]]:
        """Return the mails of one kind to one address, oldest first.

        A line may be on its way, or torn by the end of who wrote it: then the mail is sent again.
        """
        file = self.directory / "mail.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        lines = [line for line in lines if line.endswith("}\n")]
        return [mail for mail in map(json.loads, lines) if (mail["to"], mail["template"]) == (to, template)]

    async def mail(self, to: str, template: str, number: int = 1) -> dict[str, Any]:
        """Return the newest mail of one kind to one address, once there are `number`."""

        async def is_there() -> bool:
            return len(self.mails(to, template)) >= number

        await until(is_there)
        return self.mails(to, template)[-1]


def place_of(request: pytest.FixtureRequest, dialect: str, directory: Path) -> Place:
    """Return a place with an empty database of either kind; on PostgreSQL with the schema in it."""
    if dialect == "sqlite":
        return Place(directory, f"sqlite:///{directory / 'gatewright.db'}")
    return Place(directory, request.getfixturevalue("cluster").create(migrated=True))


class Visitor:
    """A client of one process."""

    def __init__(self, live: LiveService) -> None:
        self._client = httpx.AsyncClient(base_url=live.url, timeout=DEADLINE)

    async def __aenter__(self) -> "Visitor":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(self, path: str, caller: str = "", **body: object) -> httpx.Response:
        """POST a body; the caller's token goes as bearer. Raises httpx.TransportError when nobody answers."""
        return await self._client.post(path, json=body, headers=bearer(caller) if caller else {})

    async def get(self, path: str, caller: str = "") -> httpx.Response:
        """GET; the caller's token goes as bearer."""
        return await self._client.get(path, headers=bearer(caller) if caller else {})

    async def join(self, email: str) -> str:
        """Sign up; give the session token."""
        answer = await self.sign_up(email)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["token"])

    async def sign_up(self, email: str) -> httpx.Response:
        return await self.post("/sign-up/email", name="Ada", email=email, password=PASSWORD)

    async def sign_in(self, email: str, password: str = PASSWORD) -> httpx.Response:
        return await self.post("/sign-in/email", email=email, password=password)

    async def opens(self, email: str, password: str) -> bool:
        """Return whether a password signs in; every answer but yes and no is a fault."""
        answer = await self.sign_in(email, password)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200

    async def is_live(self, token: str) -> bool:
        """Return whether a session is alive; every answer but yes and no is a fault."""
        answer = await self.get("/get-session", token)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200

    async def reset_token(self, place: Place, email: str, number: int = 1) -> str:
        """Ask for a reset; give the mailed token."""
        await self.post("/request-password-reset", email=email)
        return token_in((await place.mail(email, "reset-password", number))["link"])

    async def begin_enrolment(self, token: str) -> tuple[str, list[str]]:
        """Open an enrolment; give the secret and the backup codes."""
        answer = await self.post("/two-factor/enable", token, password=PASSWORD)
        assert answer.status_code == 200, answer.text
        return secret_in(answer.json()["totpURI"]), answer.json()["backupCodes"]

    async def enrol(self, token: str) -> tuple[str, list[str]]:
        """Switch two-factor sign-in on; give the secret and the backup codes."""
        secret, codes = await self.begin_enrolment(token)
        answer = await self.post("/two-factor/verify-totp", token, code=pyotp.TOTP(secret).now())
        assert answer.status_code == 200, answer.text
        return secret, codes
