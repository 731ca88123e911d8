"""Send emails by SMTP. Imported only if SMTP is configured, because the libraries are large."""

import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime, parseaddr

import aiosmtplib

from server.config.groups.mail import MailSettings
from server.mail.message import DeliveryError, FinalError, Mail, TemporaryError

_ENHANCED_STATUS = re.compile(r"[245]\.\d{1,3}\.\d{1,3}", re.ASCII)
_ONE_ADDRESS = re.compile(
    r"(?!.*=\?.*\?=)[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}", re.ASCII
)
"""A recipient: exactly one email address. An encoded word (RFC 2047) is refused, because email.message and mail servers
decode it, and it could become two addresses."""
_QUIT_TIMEOUT = 2.0
"""Timeout in seconds of QUIT, whose outcome does not matter: the server has accepted the email before."""


class SmtpSender:
    """Sends emails to the configured SMTP server, with one connection per email.

    `context` is the TLS context with the trusted authorities, by default those of the system.
    """

    def __init__(self, settings: MailSettings, context: ssl.SSLContext | None = None) -> None:
        self._smtp = settings.smtp
        self._timeout = settings.timeout.total_seconds()
        self._context = context

    async def send(self, mail: Mail) -> None:
        """Deliver the email to its one recipient, whatever its headers contain. Raises TemporaryError or FinalError."""
        with _delivery_errors():
            message = compose(mail)
            async with self._connection(_domain(mail.sender)) as client:
                # defence: V78 one-recipient
                await client.send_message(message, sender=parseaddr(mail.sender)[1], recipients=[mail.to])

    async def greet(self) -> None:
        """Test the server: connect, encrypt, authenticate and quit, without an email. Raises SMTPException, OSError."""
        async with self._connection("localhost"):
            pass

    @contextlib.asynccontextmanager
    async def _connection(self, local_hostname: str) -> AsyncIterator[aiosmtplib.SMTP]:
        """Yield a connected client, which requires the configured encryption and never falls back to plain text."""
        smtp = self._smtp
        client = aiosmtplib.SMTP(
            hostname=smtp.host or "",
            port=smtp.port,
            username=smtp.username,
            password=None if smtp.password is None else smtp.password.get_secret_value(),
            use_tls=smtp.tls == "tls",
            start_tls=smtp.tls == "starttls",
            tls_context=self._context if smtp.tls != "none" else None,
            timeout=self._timeout,  # defence: R11 smtp-timeout
            local_hostname=local_hostname,
        )
        try:
            await client.connect()
            yield client
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await client.quit(timeout=_QUIT_TIMEOUT)
        finally:
            client.close()


def compose(mail: Mail) -> EmailMessage:
    """Return an email as a message with headers. The Message-ID is the same for each attempt at an outbox row.

    Raises FinalError if the recipient is not exactly one plain email address, or a header contains a line break.
    """
    message = EmailMessage(policy=SMTP_POLICY)
    if not _ONE_ADDRESS.fullmatch(mail.to):
        raise FinalError("malformed recipient")
    try:
        message["From"], message["To"], message["Subject"] = mail.sender, mail.to, mail.subject
    except ValueError as error:
        raise FinalError("malformed header") from error
    message["Date"] = format_datetime(mail.created_at)
    message["Message-ID"] = f"<{mail.id}@{_domain(mail.sender)}>"
    # Automatic responders do not reply to such messages (RFC 3834).
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text, cte="quoted-printable")  # defence: V79 headers
    message.add_alternative(mail.html, subtype="html", cte="quoted-printable")
    return message


def _domain(address: str) -> str:
    return parseaddr(address)[1].rpartition("@")[2]


@contextlib.contextmanager
def _delivery_errors() -> Iterator[None]:
    """Convert SMTP errors to TemporaryError or FinalError: replies by their code, all other errors are temporary."""
    try:
        yield
    except aiosmtplib.SMTPRecipientsRefused as error:
        raise _by_code(error.recipients[0]) from error
    except aiosmtplib.SMTPResponseException as error:
        raise _by_code(error) from error
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        raise TemporaryError(f"smtp: {type(error).__name__}") from error


def _by_code(error: aiosmtplib.SMTPResponseException) -> DeliveryError:
    """Return an error with the status codes only, because servers quote addresses and links in their texts."""
    status = _ENHANCED_STATUS.match(error.message)
    reason = f"smtp: {error.code} {status[0]}" if status else f"smtp: {error.code}"
    # defence: R12 permanent-error
    return FinalError(reason) if 500 <= error.code <= 599 else TemporaryError(reason)
