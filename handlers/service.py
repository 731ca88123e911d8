"""The operations of openapi/paths/service.yaml: health, readiness, and the error page."""

from domain import errors
from domain.context import Context, PageRequest
from domain.oauth_clients.policy import ClientPolicy
from domain.ports import Readiness
from handlers import shapes
from handlers.pages import texts, view
from handlers.responses.reply import Page

_LONGEST = 1000
"""The most characters of a URL that are shown."""


# service.check_health
async def check_health(ctx: Context) -> shapes.Health:
    """Report that the process runs; the database is not used."""
    # While the database is down, a restart of the process would not help; orchestrators would do it again and again.
    return {"ok": True}


# service.check_readiness
async def check_readiness(ctx: Context) -> shapes.Readiness:
    """Report whether requests can be served. Raises Unavailable if not, for example while shutting down."""
    if not await ctx.port[Readiness]():
        raise errors.Unavailable
    return {"ready": True}


# service.show_error
async def show_error(
    ctx: Context,
    error: str | None = None,
    error_description: str | None = None,
    received: str | None = None,
    registered: str | None = None,
) -> Page:
    """Show the error of a sign-in or authorization request that has no error page of its own.

    The texts are escaped, and there is no link to another site.
    """
    shown = view.standalone_view(ctx.policy, ctx.facts.page or PageRequest())
    values = texts.provider_error(shown.localization, error, error_description)
    # Anyone can link to this page, so in production it shows no addresses of a stranger.
    with_addresses = ctx.policy[ClientPolicy].is_development and received is not None
    return shown.render(
        "provider_error.html",
        is_confirmation=False,
        with_links=False,
        addresses=((received or "")[:_LONGEST], (registered or "")[:_LONGEST].split())
        if with_addresses
        else None,
        **values,
    )
