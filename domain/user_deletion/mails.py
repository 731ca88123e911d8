"""The emails about the deletion of a user."""

from domain import pages, urls
from domain.context import Context
from domain.mail.messages import Addressee, queue_mail
from domain.user_deletion.policy import DeletionPolicy


def delete_account(ctx: Context, user: Addressee, token: str, callback_url: str | None) -> None:
    """Email the link that deletes the user: to the hosted page, unless the request named where to go afterwards."""
    page = pages.page_url(ctx.policy, "/delete", token=token) if callback_url is None else None
    link = page or urls.public_url(ctx.policy, "/delete-user/callback", token=token, callbackURL=callback_url)
    queue_mail(ctx, "delete-account", user, link=link, lives=ctx.policy[DeletionPolicy].token_expires_in)
