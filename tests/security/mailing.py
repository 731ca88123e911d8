"""Mails as their readers get them: a service that sends by SMTP, and what an HTML part shows and where it leads."""

from dataclasses import dataclass, field
from email.message import EmailMessage
from html.parser import HTMLParser

from tests.service import Service
from tests.smtp_peer import HOST, SmtpPeer


def by_smtp(port: int) -> dict[str, str]:
    """Return the settings of a service that sends everything to a server on the loopback interface."""
    return {
        "mail.sender": "smtp",
        "mail.from": "no-reply@example.com",
        "mail.smtp.host": HOST,
        "mail.smtp.port": str(port),
        "mail.smtp.tls": "none",
    }


@dataclass(frozen=True, slots=True)
class Post:
    """A service and the SMTP server it delivers to."""

    service: Service
    peer: SmtpPeer

    async def delivered(self) -> list[EmailMessage]:
        """Deliver what is due; give what has arrived since the last look."""
        await self.service.services.worker.drain()
        mails = self.peer.mails
        self.peer.envelopes.clear()
        return mails

    async def recipients(self) -> list[list[str]]:
        """Deliver what is due; give the recipients in the envelope of each mail that has arrived since."""
        await self.service.services.worker.drain()
        recipients = [list(envelope.rcpt_tos) for envelope in self.peer.envelopes]
        self.peer.envelopes.clear()
        return recipients


@dataclass
class Page(HTMLParser):
    """What a program that shows HTML makes of a text."""

    source: str
    tags: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    shown: str = ""

    def __post_init__(self) -> None:
        """Read the whole text."""
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag and every address it names."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]

    def handle_data(self, data: str) -> None:
        """Note the text."""
        self.shown += data


def part(mail: EmailMessage, kind: str) -> str:
    """Return the `plain` or the `html` part of a mail."""
    found = mail.get_body((kind,))
    assert found is not None
    return str(found.get_content())
