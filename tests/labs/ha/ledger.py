"""What clients were told is done, and what of it the database still has."""

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx


@dataclass
class Ledger:
    """What was acknowledged during one scenario, each with when (monotonic seconds)."""

    users: dict[str, float] = field(default_factory=dict)
    """Addresses of users who were told that they have an account."""
    names: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """The numbers that a user has put into their name, in this order."""
    sessions: dict[str, float] = field(default_factory=dict)
    """Tokens of sessions that were opened, and not ended."""
    ended: dict[str, float] = field(default_factory=dict)
    """Tokens of sessions that were ended."""
    statuses: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """The paths of the requests that were not answered with 200."""
    slowest: float = 0.0

    def count(self, status: str, url: str, began: float) -> None:
        """Count a response by its status, or what the client met in its place."""
        self.statuses[status] += 1
        if status != "200":
            self.refused[urlsplit(url).path] += 1
        self.slowest = max(self.slowest, time.monotonic() - began)


@dataclass(frozen=True)
class Losses:
    """When (monotonic seconds) the things were acknowledged that are gone."""

    writes: list[float]
    revived: list[float]
    """Sessions that were ended, and live."""
    kept: set[str]
    """Addresses of the users who are there."""


async def losses(ledger: Ledger, database_url: str, instance_url: str) -> Losses:
    """Compare with the database, and with what an instance says of the sessions."""
    connection = await asyncpg.connect(database_url)
    try:
        names = dict(map(tuple, await connection.fetch('SELECT email, name FROM "user"')))
    finally:
        await connection.close()
    writes = [when for email, when in ledger.users.items() if email not in names]
    for email, told in ledger.names.items():
        number = int(names.get(email, "Ada 0").split()[1])
        writes += [when for acknowledged, when in told if acknowledged > number]
    revived: list[float] = []
    async with httpx.AsyncClient(base_url=instance_url, timeout=30, trust_env=False) as client:
        for tokens, is_live, found in ((ledger.sessions, True, writes), (ledger.ended, False, revived)):
            for token, when in tokens.items():
                answer = await client.get("/get-session", headers={"Authorization": f"Bearer {token}"})
                if answer.status_code not in (200, 401):
                    raise RuntimeError(f"a session could not be looked up: {answer.status_code}")
                if (answer.status_code == 200) is not is_live:
                    found.append(when)
    return Losses(writes, revived, ledger.users.keys() & names.keys())


def mails(file: Path) -> Counter[str]:
    """Return how many mails of verification each address was sent."""
    lines = file.read_text().splitlines() if file.exists() else []
    sent = [json.loads(line) for line in lines if line.endswith("}")]
    return Counter(mail["to"] for mail in sent if mail["template"] == "verify-email")
