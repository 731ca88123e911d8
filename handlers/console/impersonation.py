"""The pages that begin to act in the name of a user; a banner on every page then has a button that stops it."""

from domain.admin import impersonation
from domain.admin.policy import ImpersonationPolicy
from domain.context import Context
from handlers import shapes
from handlers.console import user_acts
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import impersonated_response


# console.impersonation.show
async def show(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before acting in the name of a user, and show what is not possible then."""
    user = await user_acts.target(ctx, id_, "impersonate")
    policy = ctx.policy[ImpersonationPolicy]
    return user_acts.show_form(ctx, user, "impersonate", "impersonate.html", ui_locales, impersonation=policy)


# console.impersonation.start
async def start(ctx: Context, id_: str, body: shapes.ConsoleUserForm) -> Redirect:
    """Open a session in the name of a user, and redirect to the user's account page."""
    here = view(ctx)
    opened = await impersonation.start(ctx, id_)
    return Redirect(here.account_page(""), impersonated_response(ctx, opened, None).headers)
