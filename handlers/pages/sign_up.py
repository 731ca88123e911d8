"""The page to sign up."""

from domain import identifiers
from domain.authentication import sign_up as authentication
from domain.authentication.sign_up import SignUp
from domain.context import Context
from handlers import shapes
from handlers.pages import authorization, sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect


# pages.show_sign_up
async def show_sign_up(
    ctx: Context,
    request: str | None = None,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    email: str | None = None,
) -> Page:
    """Ask a new user for name, email address and password.

    `request` names the authorization request that the user continues afterwards. `email` is the suggested address.
    """
    found = await authorization.requested(ctx, request, callback_url)
    view = authorization.view(ctx, "/sign-up", found, callback_url, ui_locales, email=email)
    return view.render(
        "sign_up.html",
        email=email or authorization.login_hint(found),
        **sign_in_methods.offered(ctx),
        **sign_in_methods.password_rules(ctx),
    )


# pages.sign_up
async def sign_up(ctx: Context, body: shapes.SignUpForm) -> Redirect:
    """Create a user and sign them in, or show that a verification link was sent."""
    view = views.view(ctx)
    new = SignUp(
        name=body["name"].strip() or body["name"],
        email=identifiers.email(body["email"].strip()),
        password=body["password"],
        image=None,
        username=body.get("username") or None,
        display_username=None,
        remembered=True,
        callback_url=view.url("/verify-email"),
        locale=view.localization.language,
    )
    _, opened = await authentication.sign_up(ctx, new)
    if opened is None:
        return view.redirect("/mail-sent", reason="verify")
    return await sign_in_methods.complete_sign_in(ctx, view, opened)
