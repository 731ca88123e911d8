"""The emails of sign-up."""

from domain.context import Context
from domain.mail.messages import Addressee, queue_mail


def existing_account(ctx: Context, user: Addressee) -> None:
    """Notify the owner of an email address of an attempt to sign up with it."""
    queue_mail(ctx, "existing-account", user)
