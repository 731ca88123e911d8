"""The outbox worker on both databases, with a clock that only the test moves, and a real SMTP server."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from inspect import isawaitable
from typing import Any, TypeVar

import pytest
from sqlalchemy import delete, func, select
from sqlmodel import col

from domain import errors
from domain.authentication import mails as sign_up_mails
from domain.context import Context, Job, RequestFacts
from domain.emails import mails as email_mails
from domain.mail import outbox
from domain.mail.messages import resolvers
from domain.passwords import mails as password_mails
from domain.passwords import passwords
from domain.policy import Policy
from domain.ports import Cipher, Counters, Ports
from domain.users import locking
from models import Audit, MailState, OneTimeToken, Outbox, User
from server.audit.writer import AuditWriter
from server.components.cleanup import delete_expired
from server.config.groups.mail import MailSettings
from server.crypto.keyring import Keyring
from server.database.database import Database, open_database
from server.mail.delivery import AT_A_TIME, DELIVERY_LIMIT, MailDelivery
from server.mail.message import Mail
from server.mail.smtp import SmtpSender
from server.mail.templates import TemplateRenderer
from server.outbox.worker import OutboxWorker
from server.rate_limit.database import DatabaseCounters
from server.unit_of_work import UnitOfWork
from tests.policies import policy
from tests.rows import insert_many
from tests.smtp_peer import HOST, Mood, SmtpPeer

Result = TypeVar("Result")
START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
ADA = "a" * 32


@dataclass
class Tray:
    """A sender that keeps what it is given; it waits before each mail until it is open."""

    mails: list[Mail] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0
    most: int = 0
    full: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, mail: Mail) -> None:
        """Keep the mail."""
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting == AT_A_TIME:
            self.full.set()
        await self.open.wait()
        self.waiting -= 1
        self.mails.append(mail)
        self.arrived.set()


def open_tray() -> Tray:
    tray = Tray()
    tray.open.set()
    return tray


@dataclass
class Office:
    """A database with one user, a clock, and what a worker is made of."""

    database: Database
    peer: SmtpPeer
    now: datetime = START
    policy: Policy = field(default_factory=policy)
    cipher: Keyring = field(default_factory=lambda: Keyring(["k" * 32]))
    queued: Callable[[Set[str]], None] = lambda _: None

    def clock(self) -> datetime:
        return self.now

    def advance(self, **time: float) -> None:
        self.now += timedelta(**time)

    def run(self, job: Job[Result], facts: RequestFacts | None = None) -> Awaitable[Result]:
        port = Ports()
        port.add(Cipher, self.cipher)
        port.add(Counters, DatabaseCounters(self.database))
        requests = UnitOfWork(
            policy=self.policy,
            database=self.database,
            port=port,
            clock=self.clock,
            audit_writer=AuditWriter(self.database),
            on_queued=self.queued,
        )
        return requests.run(job, facts)

    def worker(self, **changes: Any) -> OutboxWorker:
        smtp = {"host": HOST, "port": self.peer.port, "tls": "none"}
        settings = MailSettings.model_validate({"timeout": "5s", "smtp": smtp})
        parts: dict[str, Any] = {
            "run": self.run,
            "clock": self.clock,
            "renderer": TemplateRenderer("Gatewright", "https://auth.example.com", "no-reply@example.com"),
            "senders": {"smtp": SmtpSender(settings)},
            "resolvers": resolvers(),
        }
        return OutboxWorker(MailDelivery(**{**parts, **changes}).queues, self.clock)

    async def records(self) -> list[Audit]:
        async with self.database.transaction() as db:
            return list(await db.execute(select(Audit)))

    async def file(self, message: Callable[..., Any] = sign_up_mails.existing_account, *more: Any) -> None:
        """File one message to the user."""

        async def job(ctx: Context) -> None:
            filing = message(ctx, await locking.lock(ctx, ADA), *more)
            if isawaitable(filing):
                await filing

        await self.run(job)

    async def request(
        self, email: str, message: Callable[..., Any] = password_mails.queue_reset_request
    ) -> None:
        """File what a public request files."""

        async def job(ctx: Context) -> None:
            message(ctx, email, "/next")

        await self.run(job)

    async def rows(self) -> list[Outbox]:
        async with self.database.transaction() as db:
            statement = select(Outbox).order_by(col(Outbox.created_at), col(Outbox.id))
            return list(await db.execute(statement))

    async def row(self) -> Outbox:
        [row] = await self.rows()
        return row

    def payload(self, row: Outbox) -> dict[str, Any]:
        """Return what the payload of a row contains."""
        return dict(json.loads(self.cipher.decrypt(outbox.PURPOSE, row.payload or b"") or ""))

    async def count(self, table: Any) -> int:
        async with self.database.transaction() as db:
            return int((await db.execute(select(func.count()).select_from(table))).scalar())


@pytest.fixture
async def office(migrated_url: str) -> AsyncIterator[Office]:
    database = await open_database(migrated_url, pool_size=8, timeout=5)
    peer = SmtpPeer()
    await peer.start()
    async with database.transaction() as db:
        db.add(User(id=ADA, name="Ada", email="ada@example.com", created_at=START, updated_at=START))
    yield Office(database, peer)
    await peer.stop()
    await database.close()


class TestDelivery:
    async def test_a_filed_mail_goes_out_once_and_only_its_recipient_is_kept(self, office: Office) -> None:
        await office.file(email_mails.verify_email, "tok", "/welcome")
        worker = office.worker()

        await worker.drain()
        await worker.drain()

        [message] = office.peer.mails
        assert message["To"] == "ada@example.com"
        assert "https://auth.example.com/verify-email?token=tok&callbackURL=%2Fwelcome" in _text(message)
        row = await office.row()
        assert (row.state, office.payload(row)) == (MailState.SENT, {"to": "ada@example.com"})
        assert (row.attempts, row.lease_until) == (1, None)

    async def test_no_transaction_is_open_while_a_mail_goes_out(self, office: Office) -> None:
        class Busy:
            async def send(self, mail: Mail) -> None:
                # On SQLite there is one connection for writing: with a transaction open this would wait for itself.
                if mail.template == "existing-account":
                    await office.file(password_mails.password_changed)

        await office.file()
        await office.worker(senders={"smtp": Busy()}).drain()

        assert sorted((row.template, row.state) for row in await office.rows()) == [
            ("existing-account", MailState.SENT),
            ("password-changed", MailState.SENT),
        ]

    async def test_a_user_who_is_deleted_gets_no_queued_mail(self, office: Office) -> None:
        await office.file()

        async with office.database.transaction() as db:
            await db.execute(delete(User))
        await office.worker().drain()

        assert await office.count(Outbox) == 0
        assert office.peer.attempts == 0


class TestSharing:
    @pytest.mark.both_databases
    async def test_two_workers_send_no_mail_twice(self, office: Office) -> None:
        tray = open_tray()
        for _ in range(20):
            await office.file()

        await asyncio.gather(*(office.worker(senders={"smtp": tray}).drain() for _ in range(3)))

        assert len(tray.mails) == 20
        assert len({mail.id for mail in tray.mails}) == 20

    async def test_a_lease_keeps_others_away_until_it_runs_out(self, office: Office) -> None:
        await office.file()
        [lost] = await office.run(lambda ctx: outbox.claim(ctx, outbox.mails_for("smtp"), 4))
        worker = office.worker()

        office.advance(seconds=59)
        await worker.drain()
        assert office.peer.attempts == 0

        office.advance(seconds=1)
        await worker.drain()
        assert len(office.peer.envelopes) == 1

        await office.run(lambda ctx: outbox.mark_failed(ctx, lost, "a late note"))
        assert (await office.row()).state == MailState.SENT

    async def test_at_most_four_at_a_time(self, office: Office) -> None:
        tray = Tray()
        for _ in range(7):
            await office.file()

        work = asyncio.create_task(office.worker(senders={"smtp": tray}).drain())
        await asyncio.wait_for(tray.full.wait(), 10)
        tray.open.set()
        await work

        assert (len(tray.mails), tray.most) == (7, AT_A_TIME)


class TestFaults:
    @pytest.mark.threat("R10", "R12")
    async def test_retries_double_and_a_server_that_is_back_gets_the_mail_once(self, office: Office) -> None:
        await office.file()
        worker = office.worker()
        office.peer.mood = Mood.TEMPORARY

        await worker.drain()
        for delay in (30, 60, 120):
            attempts = office.peer.attempts
            office.advance(seconds=delay - 1)
            await worker.drain()
            assert office.peer.attempts == attempts
            office.advance(seconds=1)
            await worker.drain()
            assert office.peer.attempts == attempts + 1
        row = await office.row()
        assert (row.state, row.attempts, row.last_error) == (MailState.QUEUED, 4, "smtp: 451 4.3.0")

        office.peer.mood = Mood.ACCEPT
        office.advance(seconds=240)
        await worker.drain()
        assert len(office.peer.envelopes) == 1
        assert (await office.row()).last_error is None

    @pytest.mark.threat("R12")
    async def test_a_mail_that_is_given_up_is_on_record_once(self, office: Office) -> None:
        office.peer.mood = Mood.FINAL
        await office.file()
        await office.worker().drain()
        row = await office.row()

        office.advance(hours=2)
        await office.worker().drain()

        assert (row.state, row.last_error) == (MailState.FAILED, "smtp: 550 5.1.1")
        assert office.payload(row)["name"] == "Ada"
        assert office.peer.attempts == 1
        [record] = await office.records()
        assert (record.event, record.outcome, record.user_id) == ("mail.failed", "failure", ADA)
        assert record.details == {"mail": row.id, "template": "existing-account", "reason": "smtp: 550 5.1.1"}

    @pytest.mark.threat("R12")
    async def test_a_mail_is_given_up_when_its_link_dies(self, office: Office) -> None:
        office.peer.mood = Mood.TEMPORARY
        await office.file(email_mails.verify_email, "tok", None)
        worker = office.worker()

        for seconds in (0, 30, 60, 120, 240, 480, 960):
            office.advance(seconds=seconds)
            await worker.drain()

        row = await office.row()
        assert (row.state, row.attempts) == (MailState.FAILED, 7)

    async def test_a_mail_for_a_sender_that_is_gone_ends_with_its_time(self, office: Office) -> None:
        office.policy = policy(mail={"sender": "console"})
        await office.file()
        worker = office.worker()

        await worker.drain()
        assert (await office.row()).last_error == "the sender is not configured"

        office.advance(hours=24)
        await worker.drain()
        assert (await office.row()).state == MailState.FAILED

    @pytest.mark.threat("R10")
    async def test_a_refused_connection_is_tried_again(self, office: Office) -> None:
        await office.peer.stop()
        await office.file()
        worker = office.worker()

        await worker.drain()
        assert (await office.row()).last_error == "smtp: SMTPConnectError"

        await office.peer.start()
        office.advance(seconds=30)
        await worker.drain()
        assert len(office.peer.envelopes) == 1

    @pytest.mark.threat("R12")
    async def test_a_connection_that_ends_in_the_middle_is_tried_again(self, office: Office) -> None:
        office.peer.mood = Mood.HANG_UP
        await office.file()
        worker = office.worker()

        await worker.drain()
        assert (await office.row()).last_error == "smtp: SMTPServerDisconnected"

        office.peer.mood = Mood.ACCEPT
        office.advance(seconds=30)
        await worker.drain()
        assert len(office.peer.envelopes) == 1


@pytest.mark.threat("R11")
class TestDeliveryAsAWhole:
    """A server that answers each command in time can still take longer than the lease, all in all."""

    async def test_a_delivery_ends_before_its_lease(self, office: Office) -> None:
        tray = Tray()
        await office.file()

        await asyncio.wait_for(office.worker(senders={"smtp": tray}, delivery_limit=0.05).drain(), 10)

        row = await office.row()
        assert (row.state, row.attempts, row.last_error) == (MailState.QUEUED, 1, "time-out")
        assert (tray.most, tray.mails) == (1, [])
        assert timedelta(seconds=DELIVERY_LIMIT) < outbox.LEASE


class TestUnresolved:
    async def test_an_unknown_address_leaves_nothing(self, office: Office) -> None:
        await office.request("nobody@example.com")
        await office.request("nobody@example.com", email_mails.queue_verification_request)

        await office.worker().drain()

        assert await office.count(Outbox) == 0
        assert office.peer.attempts == 0
        # The same work as for a known address: each link, two in a verification, has stored an expired token of nobody.
        async with office.database.transaction() as db:
            grants = await db.execute(select(OneTimeToken))
        assert [(grant.user_id, grant.expires_at) for grant in grants] == [(None, office.now)] * 3
        await delete_expired(office.database, office.now)
        assert await office.count(OneTimeToken) == 0

    @pytest.mark.usefixtures("log_stream")  # A traceback for a terminal takes seconds of a processor.
    async def test_a_resolver_that_fails_leaves_the_request_as_it_was(self, office: Office) -> None:
        await office.request("ada@example.com")

        async def broken(ctx: Context, email: str, target: str | None) -> None:
            await passwords.resolve_reset(ctx, email, target)
            raise LookupError("after the token was made")

        await office.worker(resolvers={"reset-password": broken}).drain()
        row = await office.row()
        assert (row.state, row.attempts, row.last_error) == (MailState.UNRESOLVED, 1, "LookupError")
        assert await office.count(OneTimeToken) == 0

        office.advance(seconds=30)
        await office.worker().drain()
        assert len(office.peer.envelopes) == 1

    async def test_beyond_ten_thousand_the_newest_are_dropped(self, office: Office) -> None:
        later = START + timedelta(hours=1)
        row = {
            "state": "unresolved", "template": "reset-password", "sender": "smtp", "attempts": 0,
            "expires_at": later, "updated_at": START,
            "payload": office.cipher.encrypt(outbox.PURPOSE, json.dumps({"email": "x@example.com", "target": None})),
        }  # fmt: skip
        waiting = [
            {**row, "id": f"w{number:031}", "created_at": START, "next_attempt": later}
            for number in range(10_000)
        ]
        due = [
            {**row, "id": f"d{number:031}", "created_at": START + timedelta(seconds=1), "next_attempt": START}
            for number in range(6)
        ]
        async with office.database.transaction() as db:
            await insert_many(db, Outbox, waiting + due)

        await office.worker().drain()

        assert await office.count(Outbox) == 10_000
        async with office.database.transaction() as db:
            drawn = await db.execute(select(func.count()).where(col(Outbox.id).like("d%")))
        assert drawn.scalar() == 0


class TestLife:
    async def test_is_woken_by_a_commit(self, office: Office) -> None:
        tray = open_tray()
        worker = office.worker(senders={"smtp": tray})
        office.queued = worker.wake
        worker.start()

        await office.request("ada@example.com")
        await asyncio.wait_for(tray.arrived.wait(), 10)

        assert [mail.to for mail in tray.mails] == ["ada@example.com"]
        await worker.stop()
        assert (await office.row()).state == MailState.SENT

    async def test_stop_lets_a_delivery_end_and_takes_no_more(self, office: Office) -> None:
        tray = Tray()
        for _ in range(5):
            await office.file()
        worker = office.worker(senders={"smtp": tray})
        worker.start()
        await asyncio.wait_for(tray.full.wait(), 10)

        stopping = asyncio.create_task(worker.stop())
        tray.open.set()
        await stopping

        assert sorted(row.state for row in await office.rows()) == ["queued"] + ["sent"] * AT_A_TIME

    async def test_outlives_a_database_that_is_away(self, office: Office) -> None:
        faults = asyncio.Semaphore(0)
        away = True

        async def run(job: Callable[[Context], Awaitable[Any]]) -> Any:
            if away:
                faults.release()
                raise errors.Unavailable
            return await office.run(job)

        tray = open_tray()
        await office.file()
        worker = office.worker(run=run, senders={"smtp": tray})
        worker.start()
        for _ in range(6):
            await asyncio.wait_for(faults.acquire(), 10)
            worker.wake({outbox.MAIL})
        away = False
        worker.wake({outbox.MAIL})

        await asyncio.wait_for(tray.arrived.wait(), 10)
        await worker.stop()

    async def test_a_delivery_that_could_not_be_noted_is_noted_later(self, office: Office) -> None:
        tray = open_tray()
        faults = 0

        async def run(job: Callable[[Context], Awaitable[Any]]) -> Any:
            nonlocal faults
            if tray.mails and faults < 3:
                faults += 1
                raise errors.Unavailable
            return await office.run(job)

        async def pause(seconds: float) -> None:
            """Take no time."""

        await office.file()
        worker = office.worker(run=run, senders={"smtp": tray}, pause=pause)
        worker.start()
        await asyncio.wait_for(tray.arrived.wait(), 10)
        await worker.stop()

        assert (len(tray.mails), (await office.row()).state) == (1, MailState.SENT)

    async def test_a_defect_in_a_sender_costs_one_attempt(self, office: Office) -> None:
        class Broken:
            async def send(self, mail: Mail) -> None:
                raise ZeroDivisionError

        await office.file()
        await office.worker(senders={"smtp": Broken()}).drain()

        row = await office.row()
        assert (row.state, row.last_error) == (MailState.QUEUED, "ZeroDivisionError")


def _text(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content())
