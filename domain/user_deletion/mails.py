"""The emails about the deletion of a user."""

from domain import urls
from domain.context import Context
from domain.mail.messages import Recipient, queue_mail
from domain.mail.templates import MailTemplate, link_to
from domain.pages.links import mailed_page
from domain.user_deletion.policy import DeletionPolicy

DELETE_ACCOUNT = MailTemplate("delete-account", "a deletion is to be confirmed", (link_to("delete"),))


def delete_account(ctx: Context, user: Recipient, token: str, callback_url: str | None) -> None:
    """Email a user the link to the page on which they confirm the deletion of their account."""
    page = mailed_page(ctx.policy, "/delete", token, callback_url)
    link = page or urls.public_url(ctx.policy, "/delete-user/callback", token=token, callbackURL=callback_url)
    expires_in = ctx.policy[DeletionPolicy].token_expires_in
    queue_mail(ctx, DELETE_ACCOUNT, user, link=link, expires_in=expires_in)
