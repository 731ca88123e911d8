"""Magic links: request, inspect and use them."""

import json
from typing import NamedTuple

from domain import errors, identifiers, mailbox_proofs, one_time_tokens, urls
from domain.context import Context
from domain.magic_links import events, mails
from domain.magic_links.policy import MagicLinkPolicy
from domain.mail import messages, outbox
from domain.mail.policy import MailPolicy
from domain.mailbox_proofs import BannedMailboxUser, MailboxSignIn, NewUser, NewUserSignupDisabled
from domain.one_time_tokens import MailedToken
from domain.pages.links import page_url
from domain.policy import Policy
from domain.rate_limits import limits
from domain.sso_enforcement import enforcement
from domain.users import locking, lookup
from models import Purpose

_NAME = "grant.name"
"""The purpose under which the name of a new user is encrypted."""


class LinkRequest(NamedTuple):
    """The options of a request for a magic link."""

    name: str
    remembered: bool
    callback_url: str | None
    new_user_callback_url: str | None
    error_callback_url: str | None


async def request(ctx: Context, email: str, link_request: LinkRequest) -> None:
    """Queue a request for a link; `resolve` looks up the user and sends the link in the background.

    Raises SsoRequired if the domain of the address requires sign-in through an SSO connection.
    """
    await enforcement.refuse_address(ctx, email)  # defence: SSO11 link
    sender = ctx.policy[MailPolicy].sender
    messages.queue_request(ctx, mails.MAGIC_LINK, sender, email.lower(), json.dumps(link_request._asdict()))


@messages.resolves(mails.MAGIC_LINK)
async def resolve(ctx: Context, email: str, target: str | None) -> None:
    """Resolve a queued request: email the link if the address has a user, or may sign up; otherwise queue a decoy.

    `target` has the options of the request, a `LinkRequest` as JSON. Nothing is queued once the limit of sign-in emails
    to the address is reached.
    """
    link_request = LinkRequest(**json.loads(target or ""))
    user = await locking.lock_by_email(ctx, email)
    reason = mailbox_proofs.refusal_of(ctx, user, method_allows=ctx.policy[MagicLinkPolicy].sign_up)
    events.link_requested(ctx, user, email, reason)
    if not await limits.may_mail(ctx, limits.SIGN_IN, email):  # defence: M14 links
        return
    rules = ctx.policy[MagicLinkPolicy]
    # An unknown address gets a row and a token of the same kind, so that the work does not show whether it has an
    # account.
    token = await one_time_tokens.issue(  # defence: M13 link-decoy
        ctx,
        Purpose.MAGIC_LINK if reason is None else Purpose.SPENT,
        None if user is None else user.id,
        expires_in=rules.expires_in,
        email=email,
        payload=ctx.cipher.encrypt(_NAME, link_request.name),
        remembered=link_request.remembered,
    )
    to = email if reason is None else outbox.DECOY_ADDRESS
    mails.magic_link(
        ctx, user or messages.UNREGISTERED, to, _link(ctx, token, link_request), rules.expires_in
    )


def _link(ctx: Context, token: str, link_request: LinkRequest) -> str:
    query = {
        "token": token,
        "callbackURL": link_request.callback_url,
        "newUserCallbackURL": link_request.new_user_callback_url,
        "errorCallbackURL": link_request.error_callback_url,
    }
    page = confirm_page(ctx.policy)
    if page is not None:
        return urls.with_parameters(page, **query)
    return urls.public_url(ctx.policy, "/magic-link/verify", **query)


def confirm_page(policy: Policy) -> str | None:
    """Return the URL of the page on which users confirm the sign-in: `magic_links.page`, else the hosted page.

    Return None if `magic_links.confirm` is off: then opening the link signs in.
    """
    rules = policy[MagicLinkPolicy]
    if not rules.confirm:
        return None
    return rules.page or page_url(policy, "/magic-link")


async def peek(ctx: Context, token: str) -> tuple[str, bool]:
    """Return the masked email address that a link was sent to, and whether using the link would create a user.

    The link is not used up. Raises InvalidToken.
    """
    link = await _find(ctx, token)
    user = await lookup.by_email(ctx, link.email)
    return identifiers.masked_email(link.email), user is None


async def replaces_caller(ctx: Context, token: str) -> bool:
    """Return whether the browser is signed in as another user than the link's. Raises InvalidToken."""
    found = await _find(ctx, token)
    return ctx.caller is not None and ctx.caller.user.email != found.email


async def consume(ctx: Context, token: str) -> MailboxSignIn:
    """Use up a link, and sign in the user of its email address; a new user is created if sign-up is allowed.

    Raises SsoRequired, InvalidToken, NewUserSignupDisabled, BannedMailboxUser; after the last two the link stays used
    up.
    """
    try:
        return await _consume(ctx, token)
    except (errors.InvalidToken, NewUserSignupDisabled, BannedMailboxUser) as refusal:
        events.link_refused(ctx, refusal)
        raise


async def _consume(ctx: Context, token: str) -> MailboxSignIn:
    link = await _find(ctx, token)
    # Every transaction locks the user first, so that two of them cannot deadlock.
    user = await locking.lock_by_email(ctx, link.email)
    # Deleted by its own condition: of fifty requests that found the token live, one deletes it.
    # defence: M2 used-once
    if not await one_time_tokens.consume(ctx, Purpose.MAGIC_LINK, link.user_id, token):
        raise errors.InvalidToken
    new = NewUser(ctx.policy[MagicLinkPolicy].sign_up, ctx.cipher.decrypt(_NAME, link.payload) or "")
    return await mailbox_proofs.sign_in(
        ctx, user, link.email, new, method=events.MAGIC_LINK.name, remembered=link.remembered
    )


async def _find(ctx: Context, token: str) -> MailedToken:
    link = await one_time_tokens.find_mailed(ctx, Purpose.MAGIC_LINK, token)
    if link is None:
        raise errors.InvalidToken
    return link
