"""The connected applications of a user: those with the user's consent, and those that hold grants of the user."""

from collections.abc import Mapping
from typing import Any

from domain.admin_oauth_clients import search as client_search
from domain.context import Context
from domain.localization import N_
from domain.oauth.policy import OAuthPolicy
from domain.users import roles
from handlers import shapes
from handlers.console import layout, registry, user_acts
from handlers.console.applications import is_managed, page_of
from handlers.console.registry import UserSection
from handlers.console.view import ConsoleView, view
from handlers.responses.reply import Page, Redirect
from models.user import UserRow

NOTICES = {
    "application-ended": N_("The access of the application has ended. It has to ask the user again."),
    "application-ended-already": N_("That application has no access any more."),
}
_SHOWN = 100
"""The most applications that the page of a user shows."""


async def _load(ctx: Context, here: ConsoleView, user: UserRow) -> Mapping[str, Any]:
    """Return the connected applications of a user as template values."""
    if not roles.outranks(ctx.policy, ctx.signed_in.user, user):
        return {"connections": None}
    found = await client_search.list_connections(ctx, user.id)
    return {
        "connections": found[:_SHOWN],
        "more": max(0, len(found) - _SHOWN),
        "can_end": registry.may(ctx, "session", "revoke"),
        "page_of": page_of if is_managed(ctx.policy) and registry.may(ctx, "service", "manage") else None,
    }


# console.user_applications.show_end
async def show_end(
    ctx: Context, id_: str, application: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before the access of an application to a user's account ends."""
    user = await user_acts.target(ctx, id_, "end-grants")
    found = await client_search.list_connections(ctx, user.id)
    connection = next((one for one in found if one.client.client_id == application), None)
    if connection is None:
        here = view(ctx, None, ui_locales)
        return layout.done(ctx, here, user_acts.page_of(user.id), "application-ended-already")
    return user_acts.show_form(
        ctx,
        user,
        "end-application",
        "end_application.html",
        ui_locales,
        query={"application": application},
        connection=connection,
    )


# console.user_applications.end
async def end(ctx: Context, id_: str, body: shapes.ConsoleUserApplicationForm) -> Redirect:
    """End the access of an application to a user's account, and delete the user's consent."""
    here = view(ctx)
    await client_search.end_grants(ctx, client_id=body["application"], user_id=id_, with_consents=True)
    return layout.done(ctx, here, user_acts.page_of(id_), "application-ended")


USER_SECTIONS = (
    UserSection(
        name="applications",
        label=N_("Connected applications"),
        permission=("session", "list"),
        position=35,
        load=_load,
        exists=lambda policy: policy[OAuthPolicy].enabled,
    ),
)
