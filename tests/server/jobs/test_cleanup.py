"""Clean-up removes what is over, all of it, and nothing else."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from domain import tokens
from models import (
    Audit,
    Counter,
    KnownNetwork,
    Lease,
    MailState,
    OneTimeToken,
    Outbox,
    Outcome,
    Purpose,
    Session,
    TrustedDevice,
)
from models.api_key import ApiKey
from models.base import tables
from server.config.settings import Settings
from server.config.sources import setting
from server.database.database import Database
from server.jobs import cleanup
from server.jobs.scheduler import take_lease
from tests.rows import NOW, session, user

MOMENT = timedelta(milliseconds=1)
DAY = timedelta(days=1)


async def add(database: Database, *rows: Any) -> None:
    async with database.transaction() as db:
        for row in rows:
            db.add(row)


async def left(database: Database, column: Any) -> set[Any]:
    async with database.transaction() as db:
        return set((await db.execute(select(col(column)))).scalars())


def grant(name: str, purpose: Purpose, expires_at: datetime) -> OneTimeToken:
    return OneTimeToken(
        digest=name.encode(), purpose=purpose, expires_at=expires_at, created_at=NOW, updated_at=NOW
    )


def device(user_id: str, name: str, expires_at: datetime) -> TrustedDevice:
    return TrustedDevice(
        id=name, user_id=user_id, digest=name.encode(), expires_at=expires_at, created_at=NOW, updated_at=NOW
    )  # fmt: skip


def key(user_id: str, name: str, expires_at: datetime | None) -> ApiKey:
    return ApiKey(
        id=name, user_id=user_id, digest=name.encode(), kind="default", expires_at=expires_at,
        rate_limit_enabled=False, rate_limit_window_ms=1000, rate_limit_max=1, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def mail(name: str, state: MailState, since: datetime) -> Outbox:
    return Outbox(
        id=name, state=state, template="t", sender="s", next_attempt=since, expires_at=NOW - 99 * DAY,
        created_at=NOW - 99 * DAY, updated_at=since,
    )  # fmt: skip


def record(name: str, time: datetime) -> Audit:
    return Audit(id=name, time=time, event="sign_out", outcome=Outcome.SUCCESS, details={})


class TestSweep:
    async def test_removes_keys_a_month_after_they_have_expired(self, migrated: Database) -> None:
        ada = user("ada")
        await add(migrated, ada)
        ends = {"over": NOW - 30 * DAY, "kept": NOW - 30 * DAY + MOMENT, "endless": None}
        await add(migrated, *(key(ada.id, name, expires_at) for name, expires_at in ends.items()))

        assert (await cleanup.sweep(migrated, NOW))["api_key"] == 1
        assert await left(migrated, ApiKey.id) == {"kept", "endless"}

    async def test_removes_expired_sessions_at_once(self, migrated: Database) -> None:
        ada = user("ada")
        await add(migrated, ada)
        await add(
            migrated,
            session(ada, "1", id="over", expires_at=NOW),
            session(ada, "2", id="alive", expires_at=NOW + MOMENT),
        )

        assert await cleanup.sweep(migrated, NOW) == {
            "api_key": 0,
            "session": 1,
            "grant": 0,
            "outbox": 0,
            "trusted_device": 0,
            "counter": 0,
            "known_network": 0,
        }
        assert await left(migrated, Session.id) == {"alive"}

    async def test_removes_devices_that_are_trusted_no_more(self, migrated: Database) -> None:
        ada = user("ada")
        await add(migrated, ada)
        await add(migrated, device(ada.id, "over", NOW), device(ada.id, "alive", NOW + MOMENT))

        assert (await cleanup.sweep(migrated, NOW))["trusted_device"] == 1
        assert await left(migrated, TrustedDevice.id) == {"alive"}

    @pytest.mark.parametrize(
        "purpose",
        [
            Purpose.RESET,
            Purpose.DELETE,
            Purpose.CHALLENGE,
            Purpose.MAIL_CODE,
            Purpose.PASSKEY_REGISTER,
            Purpose.PASSKEY_SIGN_IN,
        ],
    )
    async def test_removes_expired_grants_at_once(self, migrated: Database, purpose: Purpose) -> None:
        await add(migrated, grant("over", purpose, NOW), grant("alive", purpose, NOW + MOMENT))

        assert (await cleanup.sweep(migrated, NOW))["grant"] == 1
        assert await left(migrated, OneTimeToken.digest) == {b"alive"}

    @pytest.mark.parametrize("purpose", [Purpose.VERIFY, Purpose.CHANGE_EMAIL])
    async def test_keeps_some_grants_to_tell_that_they_expired(
        self, migrated: Database, purpose: Purpose
    ) -> None:
        week_ago = NOW - 7 * DAY
        await add(migrated, grant("over", purpose, week_ago), grant("told", purpose, week_ago + MOMENT))

        assert (await cleanup.sweep(migrated, NOW))["grant"] == 1
        assert await left(migrated, OneTimeToken.digest) == {b"told"}

    async def test_removes_counters_whose_window_is_over(self, migrated: Database) -> None:
        await add(
            migrated,
            Counter(key=b"over", count=3, window_end=NOW),
            Counter(key=b"counting", count=3, window_end=NOW + MOMENT),
        )

        assert (await cleanup.sweep(migrated, NOW))["counter"] == 1
        assert await left(migrated, Counter.key) == {b"counting"}

    async def test_forgets_networks_after_90_days(self, migrated: Database) -> None:
        ada = user("ada")
        await add(migrated, ada)
        await add(
            migrated,
            KnownNetwork(user_id=ada.id, network=b"over", last_success=NOW - 90 * DAY),
            KnownNetwork(user_id=ada.id, network=b"known", last_success=NOW - 90 * DAY + MOMENT),
        )

        assert (await cleanup.sweep(migrated, NOW))["known_network"] == 1
        assert await left(migrated, KnownNetwork.network) == {b"known"}

    async def test_keeps_mail_for_a_while(self, migrated: Database) -> None:
        week, month = NOW - 7 * DAY, NOW - 30 * DAY
        await add(
            migrated,
            mail("sent-over", MailState.SENT, week),
            mail("sent", MailState.SENT, week + MOMENT),
            mail("failed-over", MailState.FAILED, month),
            mail("failed", MailState.FAILED, month + MOMENT),
            mail("queued", MailState.QUEUED, month),
            mail("unresolved", MailState.UNRESOLVED, month),
        )

        assert (await cleanup.sweep(migrated, NOW))["outbox"] == 2
        assert await left(migrated, Outbox.id) == {"sent", "failed", "queued", "unresolved"}

    async def test_goes_on_until_nothing_is_left(self, migrated: Database) -> None:
        await add(migrated, *(grant(str(number), Purpose.RESET, NOW) for number in range(1100)))

        assert (await cleanup.sweep(migrated, NOW))["grant"] == 1100
        assert await left(migrated, OneTimeToken.digest) == set()


class TestDeclared:
    """What tables say of the time their rows are kept."""

    def test_a_setting_that_is_named_is_one(self) -> None:
        kept = [each.keep for table in tables() for each in getattr(table, "__retention__", ())]
        named = [keep for keep in kept if isinstance(keep, str)]

        assert "audit.retention" in named
        assert all(isinstance(setting(Settings(), name), timedelta) for name in named)

    async def test_records_go_after_the_time_that_is_set_and_never_where_that_is_nought(
        self, migrated: Database
    ) -> None:
        await add(migrated, record("over", NOW - DAY), record("young", NOW - DAY + MOMENT))

        kept = await cleanup.sweep(migrated, NOW, lambda _: timedelta(0))
        swept = await cleanup.sweep(migrated, NOW, lambda _: DAY)

        assert ("audit" in kept, swept["audit"]) == (False, 1)
        assert await left(migrated, Audit.id) == {"young"}

    async def test_what_has_no_setting_does_not_wait_for_what_has(self, migrated: Database) -> None:
        removed = await cleanup.sweep(migrated, NOW, lambda _: DAY)

        assert list(removed)[-1] == "audit"


class TestTurn:
    async def test_sweeps_for_who_gets_the_lease(self, migrated: Database) -> None:
        await add(migrated, grant("over", Purpose.RESET, NOW))

        await cleanup.run(migrated, lambda: NOW, tokens.token())

        assert await left(migrated, OneTimeToken.digest) == set()

    async def test_leaves_it_to_who_holds_the_lease(self, migrated: Database) -> None:
        await take_lease(migrated, "cleanup", tokens.token(), now=NOW, seconds=300)
        await add(migrated, grant("over", Purpose.RESET, NOW))

        await cleanup.run(migrated, lambda: NOW, tokens.token())

        assert await left(migrated, OneTimeToken.digest) == {b"over"}

    async def test_prolongs_the_lease_while_it_lasts(self, migrated: Database) -> None:
        """Each look at the clock finds it three minutes later."""
        await add(migrated, *(grant(str(number), Purpose.RESET, NOW) for number in range(1100)))
        moments = [NOW + number * timedelta(minutes=3) for number in range(4)]
        later = iter(moments)

        await cleanup.run(migrated, lambda: next(later), tokens.token())

        assert await left(migrated, Lease.until) == {moments[-1] + timedelta(seconds=cleanup.EVERY)}

    async def test_leaves_the_rest_to_who_has_the_lease_by_then(self, migrated: Database) -> None:
        await add(migrated, *(grant(str(number), Purpose.RESET, NOW) for number in range(1100)))

        async def is_lost() -> bool:
            return False

        removed = await cleanup.sweep(migrated, NOW, go_on=is_lost)

        assert removed["grant"] == 500
        assert len(await left(migrated, OneTimeToken.digest)) == 600
