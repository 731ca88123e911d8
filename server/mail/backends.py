"""The senders of email, by the settings."""

import ssl
from collections.abc import Callable, Iterator
from email.utils import formataddr
from functools import partial

from jinja2 import TemplateError

from domain import identifiers, tokens
from domain.mail.outbox import LeasedMail
from server.clock import system_clock
from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.mail.mailbox import KeepingSender, RecentMails
from server.mail.message import ConsoleSender, FileSender, Rendering, Sender, SmtpOptions
from server.mail.templates import Brand, TemplateRenderer, template_error


def renderer(settings: Settings) -> Rendering:
    """Return what makes mails of outbox rows."""
    sender = settings.mail.from_address or formataddr((settings.app_name, "no-reply@localhost.localdomain"))
    pages = settings.pages
    return TemplateRenderer(
        settings.app_name,
        settings.base_url,
        sender,
        settings.mail.templates_dir,
        brand=Brand(pages.accent, pages.accent_dark),
        locale=pages.locale,
    )


def check(settings: Settings) -> Iterator[str]:
    """Yield what is wrong with the templates in `mail.templates_dir`."""
    folder = settings.mail.templates_dir
    if folder is None:
        return
    if not folder.is_dir():
        yield f"mail.templates_dir: there is no folder {folder}"
        return
    if (fault := template_error(folder)) is not None:
        yield f"mail.templates_dir: {fault}"


def senders(settings: Settings, mailbox: RecentMails | None = None) -> dict[str, Sender]:
    """Return the ways out for mails that are in use, by kind; what stays on this machine also goes into the mailbox."""
    make: dict[str, Callable[[], Sender]] = {
        "smtp": partial(_smtp, settings),
        "console": ConsoleSender,
        "file": partial(_file, settings),
    }
    wanted = {settings.mail.sender, settings.password_reset.effective_sender(settings)} - {"none"}
    made: dict[str, Sender] = {kind: make[kind]() for kind in sorted(wanted)}
    if mailbox is None:
        return made
    return {
        kind: sender if kind == "smtp" else KeepingSender(sender, mailbox) for kind, sender in made.items()
    }


def _smtp(settings: Settings) -> Sender:
    from server.mail.smtp import SmtpSender  # noqa: PLC0415 - loads an SMTP client

    return SmtpSender(smtp_options(settings))


def smtp_options(settings: Settings, context: ssl.SSLContext | None = None) -> SmtpOptions:
    """Return how the SMTP server is spoken to; `context` says whose certificates count, by default the system's."""
    smtp = settings.mail.smtp
    return SmtpOptions(
        host=smtp.host or "",
        port=smtp.port,
        username=smtp.username,
        password=smtp.password.get_secret_value() if smtp.password is not None else None,
        tls=smtp.tls,
        timeout=settings.mail.timeout.total_seconds(),
        tls_context=context,
    )


def _file(settings: Settings) -> Sender:
    return FileSender(settings.mail.file_path)


async def deliver_test(settings: Settings, to: str) -> None:
    """Send a test email.

    Raises ConfigurationError when there is no sender or a template cannot be used, DeliveryError, and InvalidEmail.
    """
    kind = settings.mail.sender
    if kind == "none":
        raise ConfigurationError("mail.sender: is none, so no email is sent")
    now = system_clock()
    row = LeasedMail(
        id=tokens.token(),
        template="test",
        sender=kind,
        attempts=0,
        created_at=now,
        expires_at=now,
        payload={"to": identifiers.email(to)},
    )
    try:
        message = renderer(settings).render(row, now)
    except TemplateError as fault:
        raise ConfigurationError(f"mail.templates_dir: {fault}") from fault
    await senders(settings)[kind].send(message)
