"""Create the senders and the renderer of emails from the settings."""

from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import formataddr

from jinja2 import TemplateError

from domain import identifiers, tokens
from domain.mail import mails
from domain.mail.outbox import LeasedMail, Payload
from domain.mail.templates import MailTemplate
from server.clock import system_clock
from server.config.base import Settings
from server.config.groups.mail import MailSettings
from server.config.groups.pages import PagesSettings
from server.config.groups.password import PasswordResetSettings
from server.config.sources import ConfigurationError
from server.mail.mailbox import KeepingSender, RecentMails
from server.mail.message import ConsoleSender, FileSender, Mail, Sender
from server.mail.templates import Brand, TemplateRenderer, environments


def renderer(settings: Settings) -> TemplateRenderer:
    """Return the renderer of outbox rows. Raises TemplateError for a broken template in `mail.templates_dir`."""
    mail, pages = settings[MailSettings], settings[PagesSettings]
    # Only SMTP needs `mail.from`: without it, an email in a file or on the console has this sender.
    sender = mail.from_address or formataddr((settings.app_name, "no-reply@localhost.localdomain"))
    return TemplateRenderer(
        settings.app_name,
        settings.base_url,
        sender,
        mail.templates_dir,
        brand=Brand(pages.accent, pages.accent_dark),
        locale=pages.locale,
    )


def check(settings: Settings) -> Iterator[str]:
    """Check the templates in `mail.templates_dir`; yield a description of the problem, if there is one."""
    folder = settings[MailSettings].templates_dir
    if folder is None:
        return
    if not folder.is_dir():
        yield f"mail.templates_dir: there is no folder {folder}"
        return
    try:
        environments(folder)
    except TemplateError as error:
        yield f"mail.templates_dir: {error}"


def senders(settings: Settings, mailbox: RecentMails | None = None) -> dict[str, Sender]:
    """Return the configured senders by name. Those other than SMTP also store emails in `mailbox`, if there is one."""
    mail, reset = settings[MailSettings], settings[PasswordResetSettings]
    create: dict[str, Callable[[], Sender]] = {
        "smtp": lambda: _smtp(settings),
        "console": ConsoleSender,
        "file": lambda: FileSender(mail.file_path),
    }
    names = {mail.sender, reset.effective_sender(settings)} - {"none"}
    by_name: dict[str, Sender] = {name: create[name]() for name in sorted(names)}
    if mailbox is None:
        return by_name
    return {
        name: sender if name == "smtp" else KeepingSender(sender, mailbox) for name, sender in by_name.items()
    }


def _smtp(settings: Settings) -> Sender:
    from server.mail.smtp import SmtpSender  # noqa: PLC0415 - loads an SMTP client

    return SmtpSender(settings[MailSettings])


def render(settings: Settings, template: MailTemplate, payload: Payload, now: datetime) -> Mail:
    """Render a template with a payload, without the outbox. Raises ConfigurationError if it cannot be rendered."""
    try:
        return renderer(settings).render(example_row(template.name, payload, now), now)
    except TemplateError as error:
        raise ConfigurationError(f"mail.templates_dir: {error}") from error


def example_row(template: str, payload: Payload, now: datetime) -> LeasedMail:
    """Return an outbox row for rendering an email with this payload; the row is not stored."""
    return LeasedMail(
        id=tokens.token(),
        template=template,
        sender="none",
        attempts=0,
        created_at=now,
        expires_at=now,
        payload=payload,
    )


async def deliver_test(settings: Settings, to: str) -> None:
    """Send a test email to `to` with the configured sender, without the outbox.

    Raises ConfigurationError if there is no sender or a template cannot be rendered, DeliveryError, and InvalidEmail.
    """
    sender = settings[MailSettings].sender
    if sender == "none":
        raise ConfigurationError("mail.sender: is none, so no email is sent")
    mail = render(settings, mails.TEST, {"to": identifiers.email(to)}, system_clock())
    await senders(settings)[sender].send(mail)
