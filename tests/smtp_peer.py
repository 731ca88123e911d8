"""A real SMTP server on the loopback interface that can be told to misbehave."""

import asyncio
import ipaddress
import ssl
import warnings
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from enum import Enum
from pathlib import Path
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "127.0.0.1"
CREDENTIALS = ("mailer", "open sesame")


class Mood(Enum):
    """How the peer treats those who come."""

    ACCEPT = "accept"
    STALL = "stall"
    TEMPORARY = "4xx"
    FINAL = "5xx"
    HANG_UP = "closes in the middle of DATA"


class SmtpPeer:
    """Collects what it accepts. `attempts` counts the recipients it was asked to take, refused ones included."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, requires_auth: bool = False) -> None:
        self.mood = Mood.ACCEPT
        self.attempts = 0
        self.envelopes: list[Envelope] = []
        self.asked = asyncio.Event()
        self.released = asyncio.Event()
        self.port = 0
        self._tls = tls
        self._requires_auth = requires_auth
        self._server: asyncio.Server | None = None

    @property
    def mails(self) -> list[EmailMessage]:
        """What was accepted, parsed."""
        return [_parsed(envelope) for envelope in self.envelopes]

    async def start(self) -> None:
        """Listen; after `stop` on the same port again."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more: from now on connections are refused."""
        self.released.set()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def _protocol(self) -> SMTP:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The test wants passwords without TLS; the library warns of it.
            return _Conversation(
                self,
                hostname="peer.test",
                tls_context=self._tls,
                require_starttls=self._tls is not None,
                auth_required=self._requires_auth,
                auth_require_tls=False,
                authenticator=_authenticate,
            )

    async def handle_RCPT(  # noqa: N802 (the library's name)
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take or refuse a recipient."""
        self.attempts += 1
        self.asked.set()
        if self.mood is Mood.STALL:
            await self.released.wait()
        if self.mood is Mood.TEMPORARY:
            return f"451 4.3.0 try {address} again later"
        if self.mood is Mood.FINAL:
            return f"550 5.1.1 nobody is called {address}"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Take the mail."""
        self.envelopes.append(envelope)
        return "250 OK"


class _Conversation(SMTP):
    """One connection."""

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 (the library's name)
        """Hang up after the invitation to send, if that is the mood."""
        if self.event_handler.mood is Mood.HANG_UP:
            await self.push("354 go ahead")
            cast(asyncio.Transport, self.transport).abort()
            return
        await super().smtp_DATA(arg)


def _authenticate(
    server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
) -> AuthResult:
    name, password = CREDENTIALS
    right = data == LoginPassword(name.encode(), password.encode())
    return AuthResult(success=right, handled=False, auth_data=data)


def _parsed(envelope: Envelope) -> EmailMessage:
    content = envelope.content
    assert isinstance(content, bytes)
    return message_from_bytes(content, policy=policy.default)


def certificate(directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate for the loopback address; give the server's context and one that trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "peer.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = directory / "peer.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=str(path))
