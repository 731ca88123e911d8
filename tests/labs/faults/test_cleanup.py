"""Ten thousand rows whose time is over, in every table that has such rows (R41)."""

import asyncio
from collections import Counter as Counts
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import SQLModel

from models import Counter, KnownNetwork, MailState, OneTimeToken, Outbox, Purpose, Session, TrustedDevice
from models.api_key import ApiKey
from models.daily_count import DailyCount
from models.instance import Instance
from models.invitation import Invitation
from models.organization import Organization
from server.components import cleanup
from tests.handlers.steps import bearer, code, join, sign_in
from tests.labs.faults.places import IS_LONG, Place
from tests.rows import insert_many
from tests.service import START, Service, running_service

MANY = 10_000 if IS_LONG else 2_000
BATCH = 500
LONG_AGO = START - timedelta(days=800)

Row = dict[str, Any]


def _times(**more: Any) -> Row:
    return {"created_at": LONG_AGO, "updated_at": LONG_AGO, "expires_at": LONG_AGO, **more}


def _rows(user_id: str) -> dict[type[SQLModel], Callable[[int], Row]]:
    """Return by table what makes one row that is over."""
    return {
        Session: lambda n: _times(
            id=f"s{n}", user_id=user_id, token_digest=b"%d" % n, remembered=True, method="password"
        ),
        OneTimeToken: lambda n: _times(digest=b"%d" % n, purpose=Purpose.RESET, user_id=user_id, attempts=0),
        TrustedDevice: lambda n: _times(id=f"d{n}", user_id=user_id, digest=b"%d" % n),
        ApiKey: lambda n: _times(
            id=f"k{n}", user_id=user_id, digest=b"%d" % n, kind="default", enabled=True, rate_limit_enabled=False,
            rate_limit_window_ms=1000, rate_limit_max=1, request_count=0
        ),
        Invitation: lambda n: _times(
            id=f"i{n}", organization_id="o", email=f"{n}@x.test", role="member", status="canceled", inviter_id=user_id
        ),
        Counter: lambda n: {"key": b"%d" % n, "count": 1, "window_end": LONG_AGO},
        Instance: lambda n: {
            "id": f"n{n}", "host": "h", "process": n, "version": "1", "settings": "{}", "started_at": LONG_AGO,
            "last_seen_at": LONG_AGO
        },
        KnownNetwork: lambda n: {"user_id": user_id, "network": b"%d" % n, "last_success": LONG_AGO},
        DailyCount: lambda n: {
            "day": LONG_AGO - timedelta(days=n), "event": "sign_out", "way_in": "", "code": "", "count": 1
        },
        Outbox: lambda n: _times(
            id=f"m{n}", state=MailState.SENT, template="t", sender="file", attempts=1, next_attempt=LONG_AGO
        ),
    }  # fmt: skip


@pytest.fixture
async def crowded(place: Place) -> AsyncIterator[Service]:
    """A service with one user, and with ten thousand rows that are over in each table."""
    async with running_service(place.url, place.directory, {"limits.enabled": "false"}) as service:
        await join(service)
        [(user_id,)] = await service.rows('SELECT id FROM "user"')
        async with service.services.database.transaction() as db:
            await insert_many(
                db,
                Organization,
                [{"id": "o", "name": "Acme", "slug": "acme", "created_at": LONG_AGO, "updated_at": LONG_AGO}],
            )
            for model, row in _rows(user_id).items():
                await insert_many(db, model, [row(number) for number in range(MANY)])
        yield service


@contextmanager
def removals(service: Service) -> Iterator[Counts[str]]:
    """Count the statements of the clean-up by table."""
    counted: Counts[str] = Counts()

    def count(statement: str, _: Sequence[object]) -> AbstractContextManager[None]:
        if "WITH batch" in statement:
            counted[statement.partition("DELETE FROM ")[2].split()[0].strip('"')] += 1
        return nullcontext()

    service.services.database.hook = count
    yield counted
    service.services.database.hook = None


@pytest.mark.threat("R41")
class TestCleanup:
    """Everything that is over goes, in steps so short that nobody waits for them."""

    async def test_rows_go_in_short_transactions_and_users_go_on(self, crowded: Service) -> None:
        is_over, told = asyncio.Event(), list[str]()

        async def keep_signing_in() -> None:
            while not is_over.is_set():
                told.append(code(await sign_in(crowded)))

        token = (await sign_in(crowded)).json()["token"]
        listed = await crowded.get("/list-sessions", headers=bearer(token))
        guest = asyncio.create_task(keep_signing_in())
        with removals(crowded) as counted:
            removed = await cleanup.delete_expired(crowded.services.database, START)
        is_over.set()
        await guest

        assert len(listed.json()) == 2
        assert removed == dict.fromkeys((model.__tablename__ for model in _rows("")), MANY)
        # What a table keeps for different times goes one after the other: mails that were sent and that failed.
        times = {"outbox": 2, "grant": 3}
        assert counted == {table: MANY // BATCH + times.get(table, 1) for table in removed}
        assert set(told) == {"200"}
        assert len(told) > len(counted)
