"""The pages to sign in with a link or a code sent by email."""

from dataclasses import replace

from domain import errors, identifiers
from domain.context import Context
from domain.email_codes import codes, email_codes
from domain.email_codes.policy import EmailCodePolicy
from domain.identifiers import InvalidEmail
from domain.magic_links import magic_links
from domain.magic_links.magic_links import LinkRequest
from domain.magic_links.policy import MagicLinkPolicy
from handlers import shapes
from handlers.pages import authorization, sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect


# pages.show_email_sign_in
async def show_email_sign_in(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    email: str | None = None,
    method: str | None = None,
) -> Page:
    """Ask for the email address to send a link or a code to; with `method=code`, offer only a code."""
    view = views.view(ctx, "/sign-in/email", callback_url, ui_locales, email=email, method=method)
    _require_a_way(ctx)
    view = await authorization.named(ctx, view)
    offered = sign_in_methods.offered(ctx)
    shown = {**offered, "with_link": offered["with_link"] and not (method == "code" and offered["with_code"])}
    return view.render("email_sign_in.html", email=email or "", **shown)


# pages.request_email_sign_in
async def request_email_sign_in(ctx: Context, body: shapes.EmailSignInForm) -> Redirect:
    """Request a link or a code to sign in with; the response is the same for every address."""
    view = views.view(ctx)
    _require_a_way(ctx)
    email = identifiers.email(body["email"].strip())
    wants_link = body.get("method") == "link" or not ctx.policy[EmailCodePolicy].enabled
    if wants_link and ctx.policy[MagicLinkPolicy].enabled:
        link_request = LinkRequest(
            name="",
            remembered=True,
            callback_url=view.callback_url,
            new_user_callback_url=None,
            error_callback_url=None,
        )
        await magic_links.request(ctx, email, link_request)
        return view.redirect("/mail-sent", reason="link")
    await email_codes.request(ctx, email, codes.SIGN_IN)
    return view.redirect("/sign-in/code", email=email)


def _require_a_way(ctx: Context) -> None:
    """Raise NotFound if both links and codes are disabled."""
    if not (ctx.policy[MagicLinkPolicy].enabled or ctx.policy[EmailCodePolicy].enabled):
        raise errors.NotFound


# pages.show_email_code
async def show_email_code(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, email: str | None = None
) -> Page | Redirect:
    """Ask for the code that was sent; redirect to the page that sends codes if `email` is no email address."""
    view = views.view(ctx, "/sign-in/code", callback_url, ui_locales, email=email)
    try:
        address = identifiers.email((email or "").strip())  # defence: H3 only-addresses
    except InvalidEmail:
        return view.redirect("/sign-in/email")
    view = await authorization.named(ctx, view)
    return view.render("email_code.html", email=address)


# pages.sign_in_with_email_code
async def sign_in_with_email_code(ctx: Context, body: shapes.EmailCodeForm) -> Redirect:
    """Sign in with a code sent by email; the new session replaces one of the same user in this browser."""
    view = views.view(ctx)
    # A pasted code may bring spaces and line breaks along.
    code = "".join(body["code"].split())
    signed_in = await email_codes.sign_in(ctx, body["email"], code, name="", image=None, remembered=True)
    return await sign_in_methods.complete_sign_in(
        ctx, view, signed_in.opened, removed_access=signed_in.removed_access
    )


# pages.show_magic_link
async def show_magic_link(
    ctx: Context,
    callback_url: str | None = None,
    new_user_callback_url: str | None = None,
    ui_locales: str | None = None,
    token: str | None = None,
) -> Page:
    """Ask for confirmation before a mailed link is used up, and before it replaces the session of another user."""
    carried = {"token": token, "newUserCallbackURL": new_user_callback_url}
    view = views.view(ctx, "/magic-link", callback_url, ui_locales, **carried)
    try:
        email, is_new = await magic_links.peek(ctx, token or "")
        replaces = await magic_links.replaces_caller(ctx, token or "")
    except errors.InvalidToken:
        email, is_new, replaces, token = None, False, False, None
    view = await authorization.named(ctx, view)
    return view.render(
        "magic_link.html",
        email=email,
        is_new=is_new,
        replaces=replaces,
        token=token,
        new_user_target=new_user_callback_url,
    )


# pages.confirm_magic_link
async def confirm_magic_link(ctx: Context, body: shapes.MagicLinkForm) -> Redirect:
    """Use up a mailed link and sign in; ask for confirmation first if another user is signed in."""
    view = views.view(ctx)
    replaces = await magic_links.replaces_caller(ctx, body["token"])
    if replaces and body.get("replaces") != ctx.signed_in.user.email:  # defence: M8 asks-first
        return view.redirect(
            "/magic-link", token=body["token"], newUserCallbackURL=body.get("newUserCallbackURL")
        )
    signed_in = await magic_links.consume(ctx, body["token"])
    if signed_in.is_new and (target := body.get("newUserCallbackURL")):
        view = replace(view, callback_url=target)
    return await sign_in_methods.complete_sign_in(
        ctx, view, signed_in.opened, removed_access=signed_in.removed_access
    )
