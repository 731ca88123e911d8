"""The page where a user grants or denies an application the access that it asks for."""

from collections.abc import Mapping
from urllib.parse import urlencode

from domain.context import Context
from domain.localization import N_
from domain.oauth_clients import redirect_uris
from domain.oauth_requests import consent as consents
from domain.oauth_requests import details
from handlers import shapes
from handlers.pages import authorization
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ERROR_TEXTS: Mapping[str, str] = {
    "REQUEST_NOT_FOUND": N_(
        "This sign-in took too long, or was finished in another window. Go back to the application, and start again."
    ),
}

_LINKS = {"client_uri": N_("Website"), "tos_uri": N_("Terms of service"), "policy_uri": N_("Privacy")}
"""The members of client metadata with pages about an application, and the texts of the links to them."""


# oauth_pages.show_consent
async def show_consent(
    ctx: Context, callback_url: str | None = None, request: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show the access that an application asks for, and ask whether to grant it; redirect if a sign-in comes first."""
    found = await details.read(ctx, request or "")
    if found.reason is not None:
        return Redirect(found.continue_url)
    asked, client = found.asked, found.asked.client
    view = views.view(
        ctx, "/consent", callback_url, ui_locales or authorization.languages(found), request=request
    )
    return view.render(
        "consent.html",
        request=request,
        client=client,
        links=[
            (client.metadata[member], view.localization.gettext(label))
            for member, label in _LINKS.items()
            if client.metadata.get(member)
        ],
        document_host=details.document_host(client),
        redirect_host=found.redirect_host,
        is_local=redirect_uris.is_local(asked.redirect_uri),
        is_first=not await details.has_consented(ctx, client.client_id),
        abilities=authorization.abilities(ctx, view.localization, asked.scopes, asked.resources),
        other_account=view.url("/sign-in", prompt="login", callbackURL=found.continue_url),
    )


# oauth_pages.decide
async def decide(ctx: Context, body: shapes.ConsentDecisionForm) -> Redirect:
    """Grant or deny an application the access that it asks for, and redirect to where the request continues."""
    query = urlencode({"request": body["request"]})
    if body["decision"] == "allow":
        return Redirect(await consents.consent(ctx, query, None))
    return Redirect(await consents.refuse(ctx, query))
