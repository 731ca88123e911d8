"""The link "This was not me" in emails to an unverified address: its tokens and its URL."""

from datetime import timedelta

from sqlalchemy import bindparam, delete
from sqlmodel import col

from domain import tokens, urls
from domain.context import Context
from domain.mail.policy import MailPolicy
from domain.mail.templates import MailTemplate
from domain.pages.links import page_url
from models import OneTimeToken, Purpose

LIFETIME = timedelta(days=7)
PATH = "/not-me"
"""The hosted page, below `pages.path`."""

# Built once, because each statement object is compiled once.
_REPLACE = delete(OneTimeToken).where(
    col(OneTimeToken.user_id) == bindparam("owner"),
    col(OneTimeToken.purpose) == Purpose.DISOWN,
    col(OneTimeToken.binding) == bindparam("reason"),
)


def link(ctx: Context, template: MailTemplate, user_id: str | None, email: str) -> str | None:
    """Return the URL of the link "This was not me", with a new token, for an email to a user's unverified address.

    Return None if the template has no such link, no page can show it, or `user_id` is None, which means that the
    address is verified or has no user.
    """
    page = ctx.policy[MailPolicy].not_me_page or page_url(ctx.policy, PATH)
    # An email that strangers can request must not cost less if the address has no unverified user.
    if not template.not_me_link or page is None or (user_id is None and not template.on_request):
        return None
    token = issue(ctx, template.name, user_id, email, expires_in=LIFETIME)
    return None if user_id is None else urls.with_parameters(page, token=token)


def issue(ctx: Context, reason: str, user_id: str | None, email: str, *, expires_in: timedelta) -> str:
    """Return a new token that can delete the user for as long as `email` is their address.

    It replaces the user's older token with the same `reason`. If `user_id` is None, an expired token is stored, so that
    the work is the same.
    """
    token = tokens.token()
    ctx.db.defer(_REPLACE, owner=user_id, reason=reason.encode())
    ctx.db.add(
        OneTimeToken(
            digest=tokens.digest(token),
            purpose=Purpose.SPENT if user_id is None else Purpose.DISOWN,
            user_id=user_id,
            email=None if user_id is None else email,
            binding=reason.encode(),
            expires_at=ctx.now if user_id is None else ctx.now + expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    return token
