"""A thousand sessions end at once, and each is to be told to a client that listens and to one that does not: row O23.

`make faults ARGS=tests/labs/faults/test_logout_storm.py` runs it; GATEWRIGHT_STORM is the number of sessions.
"""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from domain import tokens
from domain.backchannel_logout.session_ids import sid_of
from models import Session, User
from models.oauth_grant import OauthGrant
from tests import rows
from tests.handlers.steps import bearer
from tests.labs.faults.asking import measured, until
from tests.labs.faults.places import LONG, Place
from tests.live import LiveService
from tests.oauth import add_client
from tests.receiver import Receiver, hang
from tests.service import PASSWORD, running_service

SESSIONS = int(os.environ.get("GATEWRIGHT_STORM", "1000"))
AT_ONCE = 20
MEMORY = 40 * 2**20 + SESSIONS * 4 * 2**10
"""Bytes by which the process may grow: what its libraries need at first, and some for each session."""
SLOWEST = 4.0
"""Seconds that a request may take meanwhile, in 99 of 100 cases; one that waited for the silent client would take 5."""

pytestmark = [LONG, pytest.mark.threat("O23")]


@pytest.fixture
async def receivers() -> AsyncIterator[list[Receiver]]:
    """The servers of two clients: one that responds, and one that never does."""
    async with Receiver() as listening, Receiver() as silent:
        silent.otherwise = hang()
        yield [listening, silent]


async def fill(place: Place, receivers: list[Receiver], *, users: int) -> list[str]:
    """Store so many users with SESSIONS sessions in all, each known to the clients; return the tokens."""
    async with running_service(place.url, place.directory, {"secrets": "s" * 32}) as service:
        now = datetime.now(UTC)
        clients = [
            (await add_client(service, backchannel_logout_uri=each.url())).client_id for each in receivers
        ]
        people = [{"id": tokens.token(), "email": f"u{n}@example.com", "name": "U"} for n in range(users)]
        times = {"created_at": now, "updated_at": now}
        secrets = [tokens.token() for _ in range(SESSIONS)]
        sessions = [
            {"id": tokens.token(), "user_id": people[n % users]["id"], "token_digest": tokens.digest(secret)}
            for n, secret in enumerate(secrets)
        ]
        grants = [
            {
                "id": tokens.token(),
                "client_id": client,
                "user_id": session["user_id"],
                "session_id": session["id"],
                "sid": sid_of(service.services.cipher, client, str(session["id"])),
                "scopes": "openid",
                "auth_time": now,
                "expires_at": now + rows.WEEK,
            }
            for session in sessions
            for client in clients
        ]
        async with service.services.database.transaction() as db:
            await rows.insert_many(db, User, [{**each, **times} for each in people])
            more = {**times, "expires_at": now + rows.WEEK, "method": "password"}
            await rows.insert_many(db, Session, [{**each, **more} for each in sessions])
            await rows.insert_many(db, OauthGrant, [{**each, **times} for each in grants])
    return secrets


def peak(live: LiveService) -> int:
    """Return the bytes that the process has had in memory at most."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{live.process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def storm(
    place: Place, receivers: list[Receiver], act: Callable[[httpx.AsyncClient], Awaitable[None]]
) -> None:
    """End all sessions, and see how long that takes, how long others wait, and how much memory it needs."""
    times: list[float] = []
    with place.serving() as live:
        async with httpx.AsyncClient(base_url=live.url, timeout=120) as client:
            joined = await client.post(
                "/sign-up/email", json={"name": "Eve", "email": "eve@example.com", "password": PASSWORD}
            )
            eve = bearer(joined.json()["token"])
            client.cookies.clear()
            before = peak(live)
            began = time.monotonic()
            acting = asyncio.ensure_future(act(client))

            async def are_told() -> bool:
                asked = time.monotonic()
                assert (await client.get("/get-session", headers=eve)).status_code == 200
                times.append(time.monotonic() - asked)
                return acting.done() and len(receivers[0].requests) >= SESSIONS

            await until(are_told, 60 + SESSIONS / 5)
            await acting
            measured(f"O23 {SESSIONS} sessions until all are told", time.monotonic() - began)
            grown = peak(live) - before
            left = await place.rows("SELECT client_id FROM logout_delivery")
    times.sort()
    slowest = times[int(len(times) * 0.99)]
    measured("O23 reading a session meanwhile, 99 of 100", slowest)
    print(
        f"O23 growth: {grown / 2**20:.1f} MiB, connections to the silent client: {receivers[1].connections}"
    )
    assert len(receivers[0].requests) == SESSIONS
    # What the silent client is to be told waits, or has been dropped, and holds nothing up.
    assert len(left) <= SESSIONS
    assert grown < MEMORY
    assert slowest < SLOWEST


async def test_many_users_sign_out(place: Place, receivers: list[Receiver]) -> None:
    secrets = await fill(place, receivers, users=SESSIONS)
    waits: list[float] = []

    async def leave(client: httpx.AsyncClient) -> None:
        waiting = iter(secrets)

        async def go_on() -> None:
            for secret in waiting:
                began = time.monotonic()
                answer = await client.post("/sign-out", headers=bearer(secret))
                waits.append(time.monotonic() - began)
                assert answer.status_code == 200, answer.text

        await asyncio.gather(*(go_on() for _ in range(AT_ONCE)))

    await storm(place, receivers, leave)

    waits.sort()
    measured("O23 a sign-out, 99 of 100", waits[int(len(waits) * 0.99)])


async def test_one_user_ends_all_sessions(place: Place, receivers: list[Receiver]) -> None:
    secrets = await fill(place, receivers, users=1)

    async def end(client: httpx.AsyncClient) -> None:
        began = time.monotonic()
        answer = await client.post("/revoke-sessions", headers=bearer(secrets[0]))
        measured(f"O23 the end of {SESSIONS} sessions by one act", time.monotonic() - began)
        assert answer.status_code == 200, answer.text

    await storm(place, receivers, end)
