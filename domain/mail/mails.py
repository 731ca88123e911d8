"""The email of `gatewright mail test`."""

from domain.mail.templates import MailTemplate

TEST = MailTemplate("test", "`gatewright mail test`")
