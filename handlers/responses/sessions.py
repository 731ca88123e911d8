"""The responses that create or end a session: body, cookies and headers."""

from typing import TypeVar

from domain.context import Context
from domain.sessions import replacement
from domain.sessions.sessions import OpenedSession
from domain.social.authorization_request import AuthorizationRedirect
from domain.social.policy import SocialPolicy
from domain.trusted_devices.policy import TrustedDevicePolicy
from domain.two_factor.challenges import PendingSignIn
from domain.two_factor.policy import TwoFactorPolicy
from handlers import shapes, wire
from handlers.responses import cookies
from handlers.responses.reply import Header, Reply

Shape = TypeVar("Shape")


def session_response(ctx: Context, opened: OpenedSession, body: Shape) -> Reply[Shape]:
    """Respond with `body`, the session cookie, and the header `set-auth-token` for clients that use bearer tokens."""
    cookie, *related = session_cookies(ctx, opened)
    # defence: V38 session-cookie
    return Reply(body, (cookie, (b"set-auth-token", opened.token.encode()), *related), opens_session=True)


async def replacing_response(ctx: Context, opened: OpenedSession, body: Shape) -> Reply[Shape]:
    """Respond as `session_response` does, and end the earlier session of the same user in this browser."""
    await replacement.end_replaced(ctx, opened)  # defence: H17 by-program
    return session_response(ctx, opened, body)


def session_cookies(ctx: Context, opened: OpenedSession) -> tuple[Header, ...]:
    """Return the Set-Cookie headers of a new session: first the session cookie, then related cookies."""
    # The session may be created after `ctx.now`, because a call to a provider takes time.
    life = opened.session.expires_at - opened.session.created_at
    max_age = int(life.total_seconds()) if opened.session.remembered else None
    cookie = cookies.set_session(ctx.policy.cookies, opened.token, max_age=max_age)
    return (cookie, *_related_cookies(ctx, opened))


def session_body(ctx: Context, opened: OpenedSession, body: Shape) -> Reply[Shape]:
    """Respond with `body`, which contains the session token; set no session cookie and no header with the token."""
    return Reply(body, _related_cookies(ctx, opened), opens_session=True)


def _related_cookies(ctx: Context, opened: OpenedSession) -> tuple[Header, ...]:
    """Return headers for a new session: they clear the pending sign-in, and set or clear the trusted device."""
    settings = ctx.policy.cookies
    pending = (cookies.clear_pending(settings),) if ctx.cookies.pending else ()
    if opened.device is not None:
        max_age = int(ctx.policy[TrustedDevicePolicy].trust_expires_in.total_seconds())
        return (*pending, cookies.set_trusted(settings, opened.device, max_age=max_age))
    return (*pending, cookies.clear_trusted(settings)) if opened.forget_device else pending


def two_factor_required(ctx: Context, pending: PendingSignIn) -> Reply[shapes.SignInAnswer]:
    """Respond that the sign-in is pending and requires a second factor."""
    body: shapes.SignInAnswer = {
        "redirect": False,
        "token": pending.token,
        "url": None,
        "user": None,
        "twoFactorRedirect": True,
        "twoFactorMethods": list(pending.methods),
        "pending": True,
    }
    return Reply(body, pending_cookies(ctx, pending))


def pending_cookies(
    ctx: Context, pending: PendingSignIn, *, keeps_session: bool = False
) -> tuple[Header, ...]:
    """Return the Set-Cookie headers of a pending sign-in, which also clear the session cookie.

    `keeps_session` leaves the session cookie of a user who only signs in again; the new session replaces it later.
    """
    settings = ctx.policy.cookies
    max_age = int(ctx.policy[TwoFactorPolicy].challenge_expires_in.total_seconds())
    headers: tuple[Header, ...] = (cookies.set_pending(settings, pending.token, max_age=max_age),)
    if not keeps_session:
        # Otherwise an earlier session of the browser would pass for the sign-in that is not complete yet.
        headers += (cookies.clear_session(settings),)  # defence: V43 clear-session
    # defence: V43 pending-headers
    return (*headers, cookies.clear_trusted(settings)) if pending.forget_device else headers


def authorization_redirect(ctx: Context, redirect: AuthorizationRedirect, body: Shape) -> Reply[Shape]:
    """Respond with `body`, which contains the URL of a provider's page, and set the cookie of the sign-in.

    The cookie binds the sign-in to this browser.
    """
    max_age = int(ctx.policy[SocialPolicy].state_expires_in.total_seconds())
    return Reply(
        body, (cookies.set_state(ctx.policy.cookies, redirect.state, redirect.binding, max_age=max_age),)
    )


def sign_out_response(ctx: Context, body: Shape) -> Reply[Shape]:
    """Respond with `body`; clear the session cookie, and the cookie of an administrator's own session."""
    return Reply(body, cookies.clear_sessions(ctx.policy.cookies, ctx.cookies.values))


def impersonated_response(ctx: Context, opened: OpenedSession, body: Shape) -> Reply[Shape]:
    """Respond with `body` and the token of a session in the name of a user.

    Cookies are set only for a caller who uses cookies: the session cookie, and one that keeps the caller's own token.
    """
    policy, caller = ctx.policy.cookies, ctx.signed_in
    headers: tuple[Header, ...] = ((b"set-auth-token", opened.token.encode()),)
    if caller.by_cookie:
        headers += (
            # A session cookie of the browser: acting for a user must not survive a restart of the browser.
            cookies.set_session(policy, opened.token, max_age=None),
            cookies.set_admin(policy, caller.token),
        )
    return Reply(body, headers)


def signed_in_response(
    ctx: Context, opened: OpenedSession | PendingSignIn, callback_url: str | None
) -> Reply[shapes.SignInAnswer]:
    """Respond to a sign-in: with the session, or with the pending sign-in that requires a second factor."""
    if isinstance(opened, PendingSignIn):
        return two_factor_required(ctx, opened)
    body: shapes.SignInAnswer = {
        "redirect": callback_url is not None,
        "token": opened.token,
        "url": callback_url,
        "user": wire.reduced_user(opened.user),
    }
    return session_response(ctx, opened, body)


def restored_response(ctx: Context, opened: OpenedSession, body: Shape) -> Reply[Shape]:
    """Respond with `body`, and restore an administrator's own session: its cookie and `set-auth-token`."""
    policy, session = ctx.policy.cookies, opened.session
    # The session is not new, so its cookie lasts only for the rest of its lifetime.
    max_age = int((session.expires_at - ctx.now).total_seconds()) if session.remembered else None
    return Reply(
        body,
        (
            cookies.set_session(policy, opened.token, max_age=max_age),
            (b"set-auth-token", opened.token.encode()),
            *cookies.clear_sent_admin(policy, ctx.cookies.values),
        ),
    )


def stopped_response(ctx: Context, body: Shape) -> Reply[Shape]:
    """Respond with `body`; clear the cookie of an administrator's own session, and the caller's session cookie.

    The session cookie stays if it is of another session than the caller's.
    """
    policy, sent = ctx.policy.cookies, ctx.cookies.values
    # A caller with a bearer token may send another session's cookie along, which must stay.
    if ctx.signed_in.token in sent(policy.session_name.encode()):  # defence: ADM11 own-cookie
        return sign_out_response(ctx, body)
    return Reply(body, cookies.clear_sent_admin(policy, sent))


def clear_trusted_device_cookie(ctx: Context, reply: Reply[Shape]) -> Reply[Shape]:
    """Return a response with a header that clears the cookie of a trusted device, if the browser sent one."""
    return Reply(reply.body, (*reply.headers, *trusted_device_cleared(ctx)))


def trusted_device_cleared(ctx: Context) -> tuple[Header, ...]:
    """Return the header that clears the cookie of a trusted device; empty if the browser sent none."""
    return (cookies.clear_trusted(ctx.policy.cookies),) if ctx.cookies.devices else ()
