"""The page of the connected applications, to which the user has granted access."""

from domain.context import Context
from domain.localization import N_
from domain.oauth.policy import OAuthPolicy
from domain.oauth_consents import consents
from domain.oauth_consents.errors import ConsentNotFound
from handlers import shapes
from handlers.account_pages import layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import authorization
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ACCOUNT_NAVIGATION = (
    NavigationItem(
        path="/applications",
        label=N_("Connected applications"),
        position=85,
        exists=lambda policy: policy[OAuthPolicy].enabled,
    ),
)

_NOTICES = {
    "revoked": N_("The application no longer has access to your account."),
    "gone": N_("That application has no access to your account any more."),
}


# account_pages.show_applications
async def show_applications(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show the applications to which the user has granted access. `reason` selects the notice to show after a form."""
    view = views.view(ctx, "/applications", callback_url, ui_locales)
    return layout.render(
        ctx,
        view,
        "applications.html",
        notices=_NOTICES,
        reason=reason,
        connections=[
            (
                one,
                authorization.abilities(
                    ctx, view.localization, one.consent.scopes.split(), one.consent.resources.split()
                ),
            )
            for one in await consents.list_own(ctx)
        ],
    )


# account_pages.show_application_revocation
async def show_application_revocation(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, consent: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before the access of an application is revoked."""
    view = views.view(ctx, "/applications/revoke", callback_url, ui_locales, consent=consent)
    gettext = view.localization.gettext
    try:
        one = await consents.read(ctx, consent or "")
    except ConsentNotFound:
        return view.redirect("/applications", reason="gone")
    return layout.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Remove the access of this application?"),
        name=one.client_name,
        effect=gettext(
            "It can no longer use your account. When you sign in to it again, it asks for your permission again."
        ),
        is_last=False,
        obstacle=None,
        field="consent",
        id=one.consent.id,
        button=gettext("Remove access"),
        back="/applications",
    )


# account_pages.revoke_application
async def revoke_application(ctx: Context, body: shapes.ConsentForm) -> Redirect:
    """Revoke the access that the user has granted to an application."""
    view = views.view(ctx)
    try:
        await consents.revoke(ctx, body["consent"])
    except ConsentNotFound:
        return view.redirect("/applications", reason="gone")
    return view.redirect("/applications", reason="revoked")
