"""The emails of magic links."""

from datetime import timedelta

from domain.context import Context
from domain.mail.messages import Recipient, queue_mail
from domain.mail.templates import MailTemplate, link_to

MAGIC_LINK = MailTemplate(
    "magic-link",
    "sign-in by a link is requested",
    (link_to("magic-link"),),
    not_me_link=True,
    on_request=True,
)


def magic_link(ctx: Context, user: Recipient, email: str, link: str, expires_in: timedelta) -> None:
    """Queue the email with the link that signs in, to `email`. `expires_in` is the lifetime of the link."""
    queue_mail(ctx, MAGIC_LINK, user, to=email, link=link, expires_in=expires_in)
