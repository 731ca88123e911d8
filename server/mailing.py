"""How mails are made and go out, by the settings."""

import ssl
from collections.abc import Callable
from email.utils import formataddr
from functools import partial
from importlib import import_module

from domain.policy import Policy
from server.mail import FileSender, Rendering, Sender, SmtpOptions
from server.settings import Settings


def renderer(settings: Settings, policy: Policy) -> Rendering:
    """Give what makes mails of outbox rows; who sends none has no use for it, nor for the library it loads."""
    sender = settings.mail.from_address or formataddr((policy.app_name, "no-reply@localhost.localdomain"))
    made: Rendering = import_module("server.rendering").Renderer(
        policy.app_name, policy.base_url, sender, settings.mail.templates_dir
    )
    return made


def senders(settings: Settings) -> dict[str, Sender]:
    """Give the ways out for mails that are in use, by kind."""
    make: dict[str, Callable[[], Sender]] = {
        "smtp": partial(_smtp, settings),
        "console": _console,
        "file": partial(_file, settings),
    }
    wanted = {settings.mail.sender, settings.password_reset.sender} - {"none"}
    return {kind: make[kind]() for kind in sorted(wanted)}


def _smtp(settings: Settings) -> Sender:
    made: Sender = import_module("server.mail_smtp").SmtpSender(smtp_options(settings))
    return made


def smtp_options(settings: Settings, context: ssl.SSLContext | None = None) -> SmtpOptions:
    """Give how the SMTP server is spoken to; `context` says whose certificates count, by default the system's."""
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


def _console() -> Sender:
    made: Sender = import_module("server.mail_console").ConsoleSender()
    return made


def _file(settings: Settings) -> Sender:
    return FileSender(settings.mail.file_path)
