"""The operations of openapi/paths/service.yaml."""

import re

from domain import errors
from domain.context import Context, PageRequest
from domain.ports import Readiness
from handlers import shapes
from handlers.pages import texts, view
from handlers.responses.reply import Page

_SHOWN = re.compile(r"[A-Za-z0-9_'-]{1,64}", re.ASCII)
_DESCRIPTION_LENGTH = 200


# service.check_health
async def check_health(ctx: Context) -> shapes.Health:
    """Report that the process runs; uses no database."""
    return {"ok": True}


# service.check_readiness
async def check_readiness(ctx: Context) -> shapes.Readiness:
    """Report whether requests can be served: database, schema, not shutting down."""
    if not await ctx.port[Readiness]():
        raise errors.Unavailable
    return {"ready": True}


# service.show_error
async def show_error(ctx: Context, error: str | None = None, error_description: str | None = None) -> Page:
    """Show an error of a flow without an error page of its own, escaped, without a link."""
    # Anyone can link to this page with any text; only what looks like an error code is shown as one.
    code = error if error is not None and _SHOWN.fullmatch(error) else "UNKNOWN"  # defence: V81 error-word
    description = (error_description or "")[:_DESCRIPTION_LENGTH]
    shown = view.standalone_view(ctx.policy, ctx.facts.page or PageRequest())
    return shown.render(
        "provider_error.html",
        code=code,
        sentence=texts.provider_sentence(shown.localization, code),
        description=description,
        with_links=False,
    )
