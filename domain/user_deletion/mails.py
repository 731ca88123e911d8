"""The emails about the deletion of a user."""

from domain import urls
from domain.context import Context
from domain.mail.messages import Addressee, queue_mail
from domain.pages import page_url
from domain.user_deletion.policy import DeletionPolicy


def delete_account(ctx: Context, user: Addressee, token: str, callback_url: str | None) -> None:
    """Email the link that deletes the user; the hosted page asks once more."""
    page = None if callback_url else page_url(ctx.policy, "/delete", token=token)
    link = page or urls.public_url(ctx.policy, "/delete-user/callback", token=token, callbackURL=callback_url)
    queue_mail(ctx, "delete-account", user, link=link, lives=ctx.policy[DeletionPolicy].token_expires_in)
