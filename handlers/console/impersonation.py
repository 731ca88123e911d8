"""Begin to act in the name of a user; the banner of every page stops it."""

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
    """Ask before acting in the name of the user, and say what is not possible then."""
    user = await user_acts.target(ctx, id_, "impersonate")
    policy = ctx.policy[ImpersonationPolicy]
    return user_acts.show_form(ctx, user, "impersonate", "impersonate.html", ui_locales, impersonation=policy)


# console.impersonation.start
async def start(ctx: Context, id_: str, body: shapes.ConsoleUserForm) -> Redirect:
    """Open a session in the name of the user, and lead to their account."""
    here = view(ctx)
    opened = await impersonation.start(ctx, id_)
    return Redirect(here.account_page(""), impersonated_response(ctx, opened, None).headers)
