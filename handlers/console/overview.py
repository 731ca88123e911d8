"""The first page: figures, recent events, findings of doctor."""

from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.localization import N_
from handlers.console import layout, registry
from handlers.console.registry import NavigationItem
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect

NAVIGATION = (NavigationItem(path="", label=N_("Overview"), permission=None, position=10),)


# console.overview.show
async def show(ctx: Context, ui_locales: str | None = None) -> Page | Redirect:
    """Show the overview, or the users if they are the first page."""
    here = view(ctx, "", ui_locales)
    if ctx.policy[ConsolePolicy].home == "users" and registry.may(ctx, "user", "list"):
        return here.redirect("/users")
    figures = [figure for tile in registry.tiles(ctx) for figure in await tile.load(ctx, here)]
    return layout.render(ctx, here, "overview/overview.html", figures=figures)
