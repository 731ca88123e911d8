"""The emails about the deletion of a user."""

from domain import urls
from domain.context import Context
from domain.mail.messages import Addressee, queue_mail
from domain.pages.links import mailed_page
from domain.user_deletion.policy import DeletionPolicy


def delete_account(ctx: Context, user: Addressee, token: str, callback_url: str | None) -> None:
    """Email the link that deletes the user; the hosted page asks once more."""
    page = mailed_page(ctx.policy, "/delete", token, callback_url)
    link = page or urls.public_url(ctx.policy, "/delete-user/callback", token=token, callbackURL=callback_url)
    queue_mail(ctx, "delete-account", user, link=link, lives=ctx.policy[DeletionPolicy].token_expires_in)
