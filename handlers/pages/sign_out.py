"""The pages to sign out, and to sign in again for a sensitive change."""

from typing import Any

from domain.accounts import accounts
from domain.admin import impersonation, permissions
from domain.authentication import sign_in
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.oauth.errors import RequestNotFound
from domain.oauth_requests import logout
from domain.sessions import expiry
from domain.sessions.sign_out import end_presented
from domain.users import roles, unproven
from handlers import shapes
from handlers.pages import leaving, passkeys, sign_in_methods
from handlers.pages import view as views
from handlers.responses import cookies, redirects
from handlers.responses.reply import Header, Page, Redirect
from handlers.responses.sessions import restored_response, sign_out_response, stopped_response
from models import CREDENTIAL

_WAYS = ("providers", "with_password", "with_passkey", "with_email")


# pages.show_sign_out
async def show_sign_out(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask whether to sign out; redirect onwards if the user is not signed in."""
    view = views.view(ctx, "/sign-out", callback_url, ui_locales)
    return _after(view) if ctx.caller is None else view.render("sign_out.html")


# pages.sign_out
async def sign_out(ctx: Context, body: shapes.PageForm) -> Redirect:
    """End the session, and redirect to `callbackURL`; with `prompt=login`, redirect to the sign-in page."""
    view = views.view(ctx)
    await end_presented(ctx)
    headers = sign_out_response(ctx, None).headers
    return view.redirect("/sign-in", headers) if body.get("prompt") == "login" else _after(view, headers)


def _after(view: views.View, headers: tuple[Header, ...] = ()) -> Redirect:
    return view.finish(headers) if view.callback_url else view.redirect("/signed-out", headers)


# pages.show_signed_out
async def show_signed_out(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page:
    """Show that the browser is signed out."""
    view = views.view(ctx, "/signed-out", callback_url, ui_locales)
    target = redirects.absolute(ctx.policy, view.callback_url) if view.callback_url else None
    return view.render("signed_out.html", target=target)


# pages.show_log_out
async def show_log_out(
    ctx: Context, ui_locales: str | None = None, request: str | None = None, done: str | None = None
) -> Page:
    """Ask whether to sign out, as a client has requested, or show that the browser is signed out."""
    view = views.view(ctx, "/log-out", None, ui_locales, request=request, done=done)
    if done == "true" and request is None:
        return view.render("signed_out.html", target=None)
    try:
        asked = await logout.read(ctx, request or "")
    except RequestNotFound:
        return view.render("log_out.html", asked=None, host=None, handle=None)
    host = None if asked.return_url is None else leaving.name_of(asked.return_url)
    return view.render("log_out.html", asked=asked, host=host, handle=request)


# pages.log_out
async def log_out(ctx: Context, body: shapes.LogoutForm) -> Redirect:
    """End the session if the user agrees, and redirect to the client."""
    try:
        after = await logout.confirm(ctx, body["request"], accept=body["accept"] == "true")
    except RequestNotFound:
        return views.view(ctx).redirect("/log-out")
    return Redirect(after.url, sign_out_response(ctx, None).headers if after.has_ended else ())


# pages.stop_impersonating
async def stop_impersonating(ctx: Context, body: shapes.PageForm) -> Redirect:
    """Stop acting in the name of a user, and redirect to that user's page in the console, or sign out."""
    view = views.view(ctx)
    user = ctx.signed_in.user
    presented = ctx.cookies.values(cookies.admin_name(ctx.policy.cookies).encode())
    opened = await impersonation.stop(ctx, presented)
    if opened is None:
        return view.redirect("/signed-out", stopped_response(ctx, None).headers)
    headers = restored_response(ctx, opened, None).headers
    console = ctx.policy[ConsolePolicy]
    if console.enabled:
        return Redirect(f"{ctx.policy.base_path}{console.path}/users/{user.id}", headers)
    return view.redirect("", headers)


# pages.show_confirm
async def show_confirm(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask the signed-in user to sign in again; redirect onwards if the session is fresh."""
    view = views.view(ctx, "/confirm", callback_url, ui_locales)
    if expiry.is_fresh(ctx) and (permissions.is_fresh(ctx) or not _is_administrator(ctx)):
        return view.finish()
    linked = {row.provider_id for row in await accounts.of_caller(ctx)}
    offered = sign_in_methods.offered(ctx)
    is_unproven = unproven.is_unproven(ctx.signed_in.user)
    shown: dict[str, Any] = {
        "providers": [one for one in sign_in_methods.providers(ctx) if one.id in linked],
        "with_password": offered["with_password"] and CREDENTIAL in linked,
        "with_passkey": await passkeys.can_use(ctx, ctx.signed_in.user.id),
        # Only codes: a link may be opened in another browser, where it would remove the access to an unproven account.
        "with_email": offered["with_code"] or (offered["with_link"] and not is_unproven),
        "with_link": offered["with_link"],
        "email_method": "code" if is_unproven else None,
    }
    # A user without any of these sets a password first.
    shown["can_reset"] = offered["with_password"] and offered["can_reset"]
    shown["has_no_way"] = not any(shown[name] for name in _WAYS)
    return view.render("confirm.html", **shown)


def _is_administrator(ctx: Context) -> bool:
    return roles.is_privileged(ctx.policy, ctx.signed_in.user.role)


# pages.confirm
async def confirm(ctx: Context, body: shapes.ConfirmForm) -> Redirect:
    """Sign in again with the password of the same user; the new session replaces the one that was too old."""
    view = views.view(ctx)
    opened = await sign_in.sign_in_again(ctx, body["password"])
    return await sign_in_methods.complete_sign_in(ctx, view, opened)
