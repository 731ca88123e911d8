"""The operations of openapi/paths/magic_links.yaml: sign in with a link sent by email."""

from dataclasses import replace

from domain import errors, urls
from domain.context import Context, Rollback
from domain.errors import Refusal
from domain.magic_links import magic_links
from domain.magic_links.magic_links import LinkRequest
from domain.mailbox_proofs import BannedMailboxUser, MailboxSignIn, NewUserSignupDisabled
from domain.social.policy import SocialPolicy
from domain.sso_enforcement.errors import SsoRequired
from domain.two_factor.challenges import PendingSignIn
from handlers import shapes, wire
from handlers.responses import redirects
from handlers.responses.reply import Redirect, Reply
from handlers.responses.sessions import (
    pending_cookies,
    session_cookies,
    session_response,
    two_factor_required,
)

_ERRORS: dict[type[Refusal], str] = {NewUserSignupDisabled: "new_user_signup_disabled"}
"""The values of `error` in a redirect for refusals that are not named by their code."""


# magic_links.request
async def request(ctx: Context, body: shapes.RequestMagicLinkRequest) -> shapes.Status:
    """Queue the request for a link; the response is the same for every address."""
    link_request = LinkRequest(
        name=body.get("name", ""),
        remembered=wire.flag(body.get("rememberMe"), default=True),
        callback_url=body.get("callbackURL") or None,
        new_user_callback_url=body.get("newUserCallbackURL") or None,
        error_callback_url=body.get("errorCallbackURL") or None,
    )
    await magic_links.request(ctx, body["email"], link_request)
    return {"status": True}


# magic_links.peek
async def peek(ctx: Context, token: str) -> shapes.MagicLinkPreview:
    """Return the masked email address of a link, without using up the link."""
    email, is_new = await magic_links.peek(ctx, token)
    return {"email": email, "newUser": is_new}


# magic_links.verify
async def verify(
    ctx: Context,
    token: str,
    callback_url: str | None = None,
    new_user_callback_url: str | None = None,
    error_callback_url: str | None = None,
    oauth_query: str | None = None,
) -> Reply[shapes.MagicLinkVerified] | Reply[shapes.SignInAnswer] | Redirect | Rollback[Redirect]:
    """Use up a link and sign in; if a browser opens the link and must confirm it, redirect to the confirming page."""
    page = magic_links.confirm_page(ctx.policy)
    # Mail scanners open every link. An opened link therefore only leads to a page with a button.
    if page is not None and ctx.facts.is_navigation():  # defence: M1 confirmed
        parameters = {
            "callbackURL": callback_url,
            "newUserCallbackURL": new_user_callback_url,
            "errorCallbackURL": error_callback_url,
            "oauth_query": oauth_query,
        }
        return Redirect(urls.with_parameters(page, token=token, **parameters))
    try:
        signed_in = await magic_links.consume(ctx, token)
    except (errors.InvalidToken, NewUserSignupDisabled, BannedMailboxUser, SsoRequired) as refusal:
        target = error_callback_url or callback_url
        if target is None:
            raise
        error = _ERRORS.get(type(refusal), refusal.code)
        # Without `Rollback` the writes are committed, so that the refused link stays used up.
        redirect = redirects.to(ctx.policy, target, error=error)
        return redirect if refusal.keeps_writes else Rollback(redirect)
    target = _target(signed_in, callback_url, new_user_callback_url) if callback_url else None
    return _verified(ctx, signed_in, target)


def _verified(
    ctx: Context, signed_in: MailboxSignIn, target: str | None
) -> Reply[shapes.MagicLinkVerified] | Reply[shapes.SignInAnswer] | Redirect:
    if isinstance(signed_in.opened, PendingSignIn):
        if target is None:
            return two_factor_required(ctx, signed_in.opened)
        return Redirect(
            redirects.second_factor_url(ctx.policy, redirects.absolute(ctx.policy, target)),
            pending_cookies(ctx, signed_in.opened),
        )
    opened = signed_in.opened
    if target is not None:
        redirect = redirects.to(ctx.policy, target, session_cookies(ctx, opened))
        return replace(redirect, opens_session=True)
    shape: shapes.MagicLinkVerified = {
        "token": opened.token,
        "user": wire.user(opened.user),
        "session": wire.session(opened.session, opened.token),
    }
    return session_response(ctx, opened, shape)


# magic_links.confirm
async def confirm(
    ctx: Context, body: shapes.ConfirmMagicLinkRequest
) -> Reply[shapes.MagicLinkConfirmed] | Reply[shapes.SignInAnswer]:
    """Use up a link when the button of the confirming page is pressed; the response contains the redirect URL."""
    signed_in = await magic_links.consume(ctx, body["token"])
    target = _target(signed_in, body.get("callbackURL"), body.get("newUserCallbackURL"))
    url = redirects.on(ctx.policy, target or None, ctx.policy[SocialPolicy].default_redirect_url).location
    if isinstance(signed_in.opened, PendingSignIn):
        reply = two_factor_required(ctx, signed_in.opened)
        pending: shapes.SignInAnswer = {
            **reply.body,
            "redirect": True,
            "url": redirects.second_factor_url(ctx.policy, url),
        }
        return replace(reply, body=pending)
    opened = signed_in.opened
    shape: shapes.MagicLinkConfirmed = {
        "redirect": True,
        "url": url,
        "token": opened.token,
        "user": wire.reduced_user(opened.user),
    }
    return session_response(ctx, opened, shape)


def _target(signed_in: MailboxSignIn, callback_url: str | None, new_user: str | None) -> str | None:
    return new_user if signed_in.is_new and new_user else callback_url
