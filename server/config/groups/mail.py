"""The settings of mail."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from domain.mail.policy import MailPolicy, Sender
from server.config.base import Group, Settings, fill
from server.config.value_types import (
    Duration,
    OptionalPath,
    OptionalSender,
    OptionalText,
    OptionalUrl,
    duration_between,
    setting,
)


class Smtp(Group):
    """`mail.smtp.*`: the SMTP server to which emails are handed."""

    host: OptionalText = setting(None, "Name of the SMTP server.")
    port: int = setting(587, "Port of the SMTP server.", ge=1, le=65535)
    username: OptionalText = setting(None, "User name, if the server requires one.")
    password: SecretStr | None = setting(None, "Password, if the server requires one.")
    tls: Literal["starttls", "tls", "none"] = setting(
        "starttls",
        "Encryption of the connection: after the greeting (`starttls`), from the start (`tls`), or `none`.",
    )


class MailSettings(Group):
    """`mail.*`: how emails are sent."""

    key = "mail"

    sender: Sender = setting(
        "none",
        "How emails are sent: `smtp` to `mail.smtp.host`, `console` to standard output, `file` to "
        "`mail.file_path`; `none` sends nothing.",
    )
    from_address: OptionalSender = setting(None, "Sender address of every email.", alias="from")
    smtp: Smtp = setting(Smtp(), "The SMTP server.")
    timeout: Duration = duration_between("10s", "Longest wait for the SMTP server.", at_least="0.05s")
    retry_for: Duration = duration_between("24h", "How long the delivery of an email is retried.")
    templates_dir: OptionalPath = setting(
        None, "Folder of email templates; each replaces the built-in template of the same path."
    )
    file_path: Path = setting(
        Path("mail.jsonl"), "File to which the sender `file` appends one JSON line per email.", strict=False
    )

    not_me_page: OptionalUrl = setting(
        None,
        "Page at a trusted origin that the link `This was not me` in emails opens; by default the hosted "
        "page. If it is not set and `pages.enabled` is false, emails have no such link.",
    )
    mailbox: bool = setting(
        False,
        "Whether /dev/mailbox shows the emails that the senders `console` and `file` have sent. The "
        "development profile sets it to true if only this machine can reach the service; production "
        "refuses it.",
    )

    @property
    def has_sender(self) -> bool:
        """Whether emails are sent; `password_reset.sender` may differ for resets."""
        return self.sender != "none"

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how mails are sent."""
        return (fill(MailPolicy, self, send_email_notifications=settings.send_email_notifications),)

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield missing settings of SMTP, and a page with an untrusted origin."""
        if self.sender == "smtp":
            yield from self.smtp_problems()
        yield from settings.page_problems("mail.not_me_page", self.not_me_page)

    def smtp_problems(self) -> Iterator[str]:
        """Yield the settings that are missing to send emails by SMTP."""
        if self.smtp.host is None:
            yield "mail.smtp.host: must be given when mail is sent by smtp"
        if self.from_address is None:
            yield "mail.from: must be given when mail is sent by smtp"

    def production_problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if links would be written to the log or shown publicly."""
        yield from console_problems("mail", self.sender)
        if self.mailbox:  # defence: R43 mailbox
            yield "mail.mailbox: shows links and codes to every caller; it is for development only"


def console_problems(group: str, sender: str) -> Iterator[str]:
    """Yield the problem that a production log must not contain links of emails."""
    if sender == "console":  # defence: R43 production-checks
        yield f"{group}.sender: console would write links to the log; use smtp or file"
