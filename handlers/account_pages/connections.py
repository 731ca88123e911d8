"""The page of the connected accounts: the user's accounts at external providers."""

from collections.abc import Mapping

from domain.accounts import accounts
from domain.accounts.policy import AccountPolicy
from domain.context import Context
from domain.localization import N_, Localization
from domain.social import authorization_request
from domain.social.authorization_request import AuthorizationRequest
from domain.social.policy import LinkingPolicy
from handlers import shapes
from handlers.account_pages import layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import passkeys, sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import authorization_redirect
from models import CREDENTIAL

ERROR_TEXTS: Mapping[str, str] = {
    "LINKING_NOT_ALLOWED": N_("Accounts cannot be connected here."),
    "ACCOUNT_NOT_FOUND": N_("That account was disconnected already."),
    "SOCIAL_ACCOUNT_ALREADY_LINKED": N_("This account is connected to another user."),
    "FAILED_TO_UNLINK_LAST_ACCOUNT": N_("This is the only way you can sign in, so it cannot be removed."),
}

ACCOUNT_NAVIGATION = (NavigationItem(path="/connections", label=N_("Connected accounts"), position=80),)

_NOTICES = {
    "connected": N_("The account is connected. You can sign in with it now."),
    "disconnected": N_("The account is disconnected."),
    "gone": N_("That account was disconnected already."),
}
_ERRORS = {
    "access_denied": N_("You did not allow the connection. Nothing was changed."),
    "account_already_linked_to_different_user": N_(
        "That account is connected to another user of this service. Nothing was changed."
    ),
    "email_does_not_match": N_(
        "That account has another email address than yours. Nothing was changed; use an account with your address."
    ),
    "email_not_found": N_("The provider did not tell an email address. Nothing was changed."),
    "provider_unavailable": N_("The provider cannot be reached at the moment. Try again later."),
    "unable_to_link_account": N_(
        "The account could not be connected: you were signed out meanwhile, or this service does not accept it."
    ),
}
"""The texts by the error code with which a provider's callback redirects to this page."""
_OTHER_ERROR = N_("The account could not be connected. Try again.")


# account_pages.show_connections
async def show_connections(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    reason: str | None = None,
    error: str | None = None,
) -> Page:
    """Show the connected accounts, and the providers at which the user can connect an account."""
    view = views.view(ctx, "/connections", callback_url, ui_locales)
    rows = await accounts.of_caller(ctx)
    connected = {row.provider_id for row in rows}
    can_connect = ctx.policy[LinkingPolicy].enabled
    return layout.render(
        ctx,
        view,
        "connections.html",
        notices=_NOTICES,
        reason=None if error else reason,
        problem=_problem(view.localization, error),
        connections=[
            (row, sign_in_methods.provider_name(row.provider_id))
            for row in rows
            if row.provider_id != CREDENTIAL
        ],
        can_disconnect=len(rows) > 1 or ctx.policy[AccountPolicy].allow_unlinking_all,
        offered=[one for one in sign_in_methods.providers(ctx) if can_connect and one.id not in connected],
    )


def _problem(localization: Localization, error: str | None) -> str | None:
    # Fixed sentences, because anyone can link to this page with any `error`.
    return localization.gettext(_ERRORS.get(error, _OTHER_ERROR)) if error else None


# account_pages.connect_provider
async def connect_provider(ctx: Context, body: shapes.ConnectForm) -> Redirect:
    """Begin to connect an account at a provider, and redirect to the provider."""
    view = views.view(ctx)
    request = AuthorizationRequest(
        provider_id=body["provider"],
        scopes=(),
        callback_url=view.url("/connections", reason="connected"),
        error_callback_url=view.url("/connections"),
    )
    redirect = await authorization_request.begin_linking(ctx, request)
    return Redirect(redirect.url, authorization_redirect(ctx, redirect, None).headers)


# account_pages.show_disconnection
async def show_disconnection(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
) -> Page | Redirect:
    """Ask for confirmation before an account is disconnected."""
    view = views.view(ctx, "/connections/disconnect", callback_url, ui_locales, connection=connection)
    gettext = view.localization.gettext
    rows = await accounts.of_caller(ctx)
    row = next((one for one in rows if one.id == connection and one.provider_id != CREDENTIAL), None)
    if row is None:
        return view.redirect("/connections", reason="gone")
    offered = sign_in_methods.offered(ctx)
    has_other = len(rows) > 1 or offered["with_link"] or offered["with_code"]
    return layout.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Disconnect this account?"),
        name=sign_in_methods.provider_name(row.provider_id),
        effect=gettext("You can no longer sign in with it."),
        is_last=not has_other and not await passkeys.can_use(ctx, ctx.signed_in.user.id),
        obstacle=None,
        field="connection",
        id=row.id,
        button=gettext("Disconnect"),
        back="/connections",
    )


# account_pages.disconnect_provider
async def disconnect_provider(ctx: Context, body: shapes.DisconnectForm) -> Redirect:
    """Disconnect an account at a provider, unless it is the user's only way to sign in."""
    view = views.view(ctx)
    # `unlink` would also remove the password, which this page does not offer.
    connected = {row.id for row in await accounts.of_caller(ctx) if row.provider_id != CREDENTIAL}
    if body["connection"] not in connected:
        return view.redirect("/connections", reason="gone")
    await accounts.unlink(ctx, None, body["connection"])
    return view.redirect("/connections", reason="disconnected")
