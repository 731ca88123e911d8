"""What a mail server may do without anybody who asks for mail noticing: R10 to R12 of the fault list."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from models import MailState
from tests.conftest import MakeService
from tests.handlers.steps import ADA, join, looks
from tests.labs.faults.asking import PLAIN, asking, measured, until
from tests.labs.faults.places import LONG
from tests.live import serving
from tests.service import Service
from tests.smtp_peer import HOST, Mood, SmtpPeer

UNKNOWN = "nobody@example.com"


@pytest.fixture
def dialect() -> str:
    """One database is enough here: the outbox by itself is tested on both, in tests/server."""
    return "sqlite"


def by_smtp(port: int, **more: str) -> dict[str, str]:
    """Return the settings of a service that mails through this port of this machine."""
    return {
        "mail.sender": "smtp",
        "mail.from": "no-reply@example.com",
        "mail.smtp.host": HOST,
        "mail.smtp.port": str(port),
        "mail.smtp.tls": "none",
        **more,
    }


@pytest.fixture(scope="module")
async def listener() -> AsyncIterator[SmtpPeer]:
    """The mail server."""
    peer = SmtpPeer()
    await peer.start()
    yield peer
    await peer.stop()


@pytest.fixture
async def peer(listener: SmtpPeer) -> AsyncIterator[SmtpPeer]:
    """The mail server as if just started; afterwards it listens again."""
    listener.mood, listener.attempts = Mood.ACCEPT, 0
    listener.envelopes.clear()
    listener.asked.clear()
    listener.released.clear()
    yield listener
    await listener.stop()
    await listener.start()


@pytest.fixture
async def office(make_service: MakeService, peer: SmtpPeer) -> Service:
    """A service whose mail goes through it, with one user whose mails so far are away."""
    service = await make_service(by_smtp(peer.port))
    await join(service)
    await service.services.worker.drain()
    peer.envelopes.clear()
    peer.attempts = 0
    return service


async def ask_for_resets(service: Service) -> None:
    """Request a new password for a user and for nobody; check that both answers are the same."""
    known, unknown = [
        await service.post("/request-password-reset", {"email": email}) for email in (ADA, UNKNOWN)
    ]
    assert looks(known) == looks(unknown)
    assert known.status_code == 200


async def mail(service: Service) -> tuple[str, int, str | None]:
    """Return state, attempts and last error of the mail with the reset link."""
    [row] = await service.rows(
        "SELECT state, attempts, last_error FROM outbox WHERE template = 'reset-password'"
    )
    return row.state, row.attempts, row.last_error


async def later(service: Service, seconds: float) -> None:
    """Advance the clock, and have the worker do all that is due then."""
    service.clock.advance(seconds=seconds)
    await service.services.worker.drain()


@pytest.mark.threat("R10")
class TestRefusedConnections:
    """The mail server refuses connections."""

    @LONG
    async def test_a_running_service_delivers_when_the_server_is_back(self, tmp_path: Path) -> None:
        peer = SmtpPeer()
        await peer.start()
        await peer.stop()
        with serving(tmp_path, {**PLAIN, **by_smtp(peer.port)}) as service:
            async with asking(service) as asker:
                email, _ = await asker.join()
                await asyncio.to_thread(service.output.wait_for, "mail.postponed")
                await peer.start()

                async def arrived() -> bool:
                    return bool(peer.mails)

                measured("R10 the mail after the server was back", await until(arrived))
        await peer.stop()
        assert [message["To"] for message in peer.mails] == [email]

    async def test_impersonation_does_not_wait_for_its_notice(
        self, make_service: MakeService, peer: SmtpPeer
    ) -> None:
        service = await make_service(by_smtp(peer.port, **{"admin.impersonation.notify": "true"}))
        admin, user = await join(service), await join(service, "user@example.com")
        async with service.services.database.transaction() as db:
            await db.execute(text("UPDATE \"user\" SET role = 'admin' WHERE email = :email"), email=ADA)
        await service.services.worker.drain()
        user_id = (await service.get("/get-session", headers=user)).json()["user"]["id"]

        async def start() -> tuple[int, set[str]]:
            answer = await service.post("/admin/impersonate-user", {"userId": user_id}, headers=admin)
            await service.services.worker.drain()
            return answer.status_code, set(answer.json())

        up = await start()
        await peer.stop()
        down = await start()

        assert up == down == (200, {"session", "user"})
        states = await service.rows(
            "SELECT state, attempts FROM outbox WHERE template = 'impersonated' ORDER BY state"
        )
        assert [tuple(row) for row in states] == [(MailState.QUEUED, 1), (MailState.SENT, 1)]


@pytest.mark.threat("M20")
class TestSignInMails:
    """The mail server refuses connections while users sign in by mail."""

    async def test_they_arrive_while_they_are_good_for_something(
        self, make_service: MakeService, peer: SmtpPeer
    ) -> None:
        service = await make_service(by_smtp(peer.port))
        await peer.stop()
        await request_sign_in(service)
        await later(service, 60)
        await peer.start()
        for _ in range(4):
            await later(service, 30)

        parts = [message.get_body(("plain",)) for message in peer.mails]
        texts = "".join(part.get_content() for part in parts if part is not None)
        digits = re.findall(r"(?<!\d)\d{6}(?!\d)", texts)
        [token] = re.findall(r"token=(\w{32})", texts)
        checked = {"email": ADA, "type": "sign-in", "otp": digits[-1]}
        assert (await service.post("/email-otp/check-verification-otp", checked)).status_code == 200
        assert (await service.get(f"/magic-link/verify?token={token}")).status_code == 200

    async def test_later_they_are_dropped_and_recorded(
        self, make_service: MakeService, peer: SmtpPeer
    ) -> None:
        service = await make_service(by_smtp(peer.port))
        await peer.stop()
        await request_sign_in(service)
        for _ in range(20):
            await later(service, 30)
        await peer.start()
        await later(service, 3600)

        assert peer.mails == []
        await service.services.audit_writer.flush()
        [failed] = await service.rows("SELECT count(*) FROM audit WHERE event = 'mail.failed'")
        states = await service.rows("SELECT state FROM outbox")
        assert (failed[0], {row[0] for row in states}) == (2, {MailState.FAILED})

    async def test_a_mail_that_nobody_could_send_in_time_is_not_sent(
        self, make_service: MakeService, peer: SmtpPeer
    ) -> None:
        """The service was down, too, so that nothing was tried meanwhile."""
        service = await make_service(by_smtp(peer.port))
        await peer.stop()
        await request_sign_in(service)
        await peer.start()
        await later(service, 600)

        assert peer.mails == []
        errors = {row.last_error for row in await service.rows("SELECT last_error FROM outbox")}
        assert errors == {"expired"}


async def request_sign_in(service: Service) -> None:
    """Request a link and a code; no answer waits for the mail server."""
    link = await service.post("/sign-in/magic-link", {"email": ADA})
    code = await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
    assert (link.status_code, code.status_code) == (200, 200)
    await service.services.worker.drain()


@pytest.mark.threat("R11")
class TestSilentServer:
    """The mail server takes connections and answers nothing."""

    async def test_no_answer_waits_for_it(self, office: Service, peer: SmtpPeer) -> None:
        peer.mood = Mood.STALL
        office.services.worker.start()
        try:
            await ask_for_resets(office)
            async with asyncio.timeout(60):
                await peer.asked.wait()
            await ask_for_resets(office)
            answers = [await office.get("/ok"), await office.get("/ready")]
            stalled = not peer.released.is_set() and not peer.envelopes
            peer.mood = Mood.ACCEPT
            peer.released.set()

            async def arrived() -> bool:
                return len(peer.envelopes) == 2

            await until(arrived)
        finally:
            await office.services.worker.stop()

        assert stalled
        assert [answer.status_code for answer in answers] == [200, 200]

    async def test_the_wait_ends_when_the_operator_wants_it(self, make_cold_service: MakeService) -> None:
        """A tarpit that does not even greet."""
        taken: list[asyncio.StreamWriter] = []
        tarpit = await asyncio.start_server(lambda _, writer: taken.append(writer), HOST, 0)
        port = tarpit.sockets[0].getsockname()[1]
        service = await make_cold_service(by_smtp(port, **{"mail.timeout": "0.2s"}))
        await join(service)

        await ask_for_resets(service)
        await service.services.worker.drain()

        state, attempts, error = await mail(service)
        assert (state, attempts) == (MailState.QUEUED, 1)
        assert error in {"smtp: SMTPConnectTimeoutError", "smtp: SMTPReadTimeoutError"}
        assert len(taken) == 2
        tarpit.close()
        for writer in taken:
            writer.close()
        await tarpit.wait_closed()

    async def test_mail_of_another_kind_goes_on(self, make_cold_service: MakeService, peer: SmtpPeer) -> None:
        """Resets go into a file here, while all other mail is stuck in the tarpit, more than work on it at once."""
        service = await make_cold_service(by_smtp(peer.port, **{"password_reset.sender": "file"}))
        peer.mood = Mood.STALL
        service.services.worker.start()
        try:
            for number in range(6):
                await join(service, f"user-{number}@example.com")
            async with asyncio.timeout(60):
                await peer.asked.wait()
            await service.post("/request-password-reset", {"email": "user-0@example.com"})

            async def written() -> bool:
                return service.mail_file.exists()

            await until(written)
        finally:
            peer.released.set()
            await service.services.worker.stop()

        assert '"template":"reset-password"' in service.mail_file.read_text()
