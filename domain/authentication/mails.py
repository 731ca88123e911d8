"""The emails of sign-up."""

from domain.context import Context
from domain.mail.messages import Recipient, queue_mail
from domain.mail.templates import MailTemplate

EXISTING_ACCOUNT = MailTemplate("existing-account", "a sign-up uses a registered email address")


def existing_account(ctx: Context, user: Recipient) -> None:
    """Notify the owner of an email address of an attempt to sign up with it."""
    queue_mail(ctx, EXISTING_ACCOUNT, user)
