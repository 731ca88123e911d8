"""The senders, against a real SMTP server, a real file and a real console."""

import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from ssl import SSLContext

import pytest

from server.config.groups.mail import MailSettings
from server.mail.message import ConsoleSender, FileSender, FinalError, Mail, TemporaryError
from server.mail.smtp import SmtpSender
from tests.smtp_peer import CREDENTIALS, HOST, SmtpPeer, certificate

MAIL = Mail(
    id="i" * 32,
    template="reset-password",
    to="ada@example.com",
    sender="Gatewright <no-reply@example.com>",
    subject="Reset your password",
    text="Hello Zoë,\n\nhttps://auth.example.com/reset-password/" + "t" * 2000 + "\n",
    html="<p>Hello Zoë</p>",
    link="https://auth.example.com/reset-password/" + "t" * 2000,
    code=None,
    created_at=datetime(2026, 3, 4, 9, 26, 1, 500_000, tzinfo=UTC),
)


@pytest.fixture
async def peer() -> AsyncIterator[SmtpPeer]:
    peer = SmtpPeer()
    await peer.start()
    yield peer
    await peer.stop()


def sender(peer: SmtpPeer, context: SSLContext | None = None, **options: object) -> SmtpSender:
    smtp = {"host": HOST, "port": peer.port, "tls": "none", **options}
    return SmtpSender(MailSettings.model_validate({"timeout": "5s", "smtp": smtp}), context)


class TestSmtp:
    async def test_delivers_text_and_html_to_exactly_one_recipient(self, peer: SmtpPeer) -> None:
        await sender(peer).send(MAIL)

        [envelope], [message] = peer.envelopes, peer.mails
        assert (envelope.mail_from, envelope.rcpt_tos) == ("no-reply@example.com", ["ada@example.com"])
        assert [str(message[name]) for name in ("From", "To", "Subject")] == [
            "Gatewright <no-reply@example.com>",
            "ada@example.com",
            "Reset your password",
        ]
        assert message["Date"].datetime == MAIL.created_at.replace(microsecond=0)
        assert message["Auto-Submitted"] == "auto-generated"
        text, html = message.iter_parts()
        assert (text.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
        assert text.get_content().replace("\r\n", "\n") == MAIL.text
        assert html.get_content().strip() == MAIL.html

    async def test_a_repeat_carries_the_same_message_id(self, peer: SmtpPeer) -> None:
        await sender(peer).send(MAIL)
        await sender(peer).send(MAIL)
        await sender(peer).send(replace(MAIL, id="j" * 32))

        assert [message["Message-ID"] for message in peer.mails] == [
            f"<{'i' * 32}@example.com>",
            f"<{'i' * 32}@example.com>",
            f"<{'j' * 32}@example.com>",
        ]

    @pytest.mark.parametrize(
        "to",
        [
            "a@evil.test,v@example.com",
            '"e@evil.test"@example.com,v@example.com',
            "v@example.com\r\nBcc: e@evil.test",
            "v@example.com;e@evil.test",
            "<v@example.com> <e@evil.test>",
            "all: v@example.com, e@evil.test;",
            "",
            "nobody",
            "=?utf-8?q?v=40victim.test=2c?=@attacker.test",
            "=?utf-8?q?=22a=22_=3cv=40victim.test=3e?=@a.test",
            "=?utf-8?q?v=00?=@a.test",
            "=?utf-8?q?v=0d=0abcc=3a_e=40evil.test?=@a.test",
        ],
    )
    async def test_what_is_not_one_plain_address_gets_nothing(self, peer: SmtpPeer, to: str) -> None:
        with pytest.raises(FinalError):
            await sender(peer).send(replace(MAIL, to=to))

        assert peer.attempts == 0

    async def test_a_subject_cannot_add_a_header(self, peer: SmtpPeer) -> None:
        with pytest.raises(FinalError):
            await sender(peer).send(replace(MAIL, subject="x\r\nBcc: e@evil.test"))

        assert peer.envelopes == []


class TestSmtpSecurity:
    async def test_signs_in_where_asked_to(self) -> None:
        peer = SmtpPeer(requires_auth=True)
        await peer.start()
        name, password = CREDENTIALS

        await sender(peer, username=name, password=password).send(MAIL)
        with pytest.raises(FinalError, match="smtp: 535"):
            await sender(peer, username=name, password="wrong").send(MAIL)
        with pytest.raises(FinalError, match="smtp: 530"):
            await sender(peer).send(MAIL)

        assert len(peer.envelopes) == 1
        await peer.stop()

    async def test_starttls_encrypts_and_checks_the_certificate(self, tmp_path: Path) -> None:
        server_side, trusting = certificate(tmp_path)
        peer = SmtpPeer(tls=server_side)
        await peer.start()

        with pytest.raises(TemporaryError):
            await sender(peer, tls="starttls").send(MAIL)
        assert peer.envelopes == []

        await sender(peer, context=trusting, tls="starttls").send(MAIL)
        assert len(peer.envelopes) == 1
        await peer.stop()

    async def test_never_falls_back_to_plain_text(self, peer: SmtpPeer) -> None:
        with pytest.raises(TemporaryError, match="smtp: "):
            await sender(peer, tls="starttls").send(MAIL)

        assert peer.attempts == 0


class TestFile:
    async def test_appends_one_json_line_per_mail(self, tmp_path: Path) -> None:
        path = tmp_path / "mail.jsonl"

        await FileSender(path).send(MAIL)
        await FileSender(path).send(replace(MAIL, id="j" * 32, link=None))

        first, second = (json.loads(line) for line in path.read_text().splitlines())
        assert first == {
            "id": MAIL.id,
            "template": "reset-password",
            "to": "ada@example.com",
            "from": "Gatewright <no-reply@example.com>",
            "subject": "Reset your password",
            "text": MAIL.text,
            "html": MAIL.html,
            "link": MAIL.link,
            "code": None,
            "createdAt": "2026-03-04T09:26:01.500Z",
        }
        assert (second["id"], second["link"]) == ("j" * 32, None)
        assert path.stat().st_mode & 0o077 == 0

    async def test_a_line_that_was_torn_when_its_writer_was_killed_spoils_no_other(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "mail.jsonl"
        path.write_text('{"id":"torn"}\n{"id":"to')

        await FileSender(path).send(MAIL)

        *before, line = path.read_text().splitlines()
        assert before == ['{"id":"torn"}', '{"id":"to']
        assert json.loads(line)["id"] == MAIL.id

    async def test_a_file_that_cannot_be_written_is_temporary(self, tmp_path: Path) -> None:
        with pytest.raises(TemporaryError, match="file: IsADirectoryError"):
            await FileSender(tmp_path).send(MAIL)


class TestConsole:
    async def test_prints_recipient_subject_and_link_unbroken(self) -> None:
        output = io.StringIO()

        await ConsoleSender(output).send(MAIL)

        lines = output.getvalue().splitlines()
        assert lines[0].startswith("── email: reset-password ──")
        assert lines[1:-1] == ["to       ada@example.com", "subject  Reset your password", MAIL.link]
        assert set(lines[-1]) == {"─"}

    async def test_prints_a_code_and_takes_nothing_for_markup(self) -> None:
        output = io.StringIO()

        await ConsoleSender(output).send(replace(MAIL, to="[red]x", link=None, code="123456"))

        assert "to       [red]x" in output.getvalue()
        assert "code     123456" in output.getvalue()
