"""The settings of a connection for single sign-on, its identity provider, and test sign-ins."""

from functools import partial

from domain import identifiers
from domain.context import Context
from domain.localization import N_
from domain.sso_connections import connections, forms, search, testing
from handlers import shapes
from handlers.console import layout
from handlers.console.sso_connection import show_form, values
from handlers.console.sso_connections import page_of
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import authorization_redirect
from handlers.sso_pages import provider_form, results, settings_form

NOTICES = {"connection-saved": N_("Your changes are saved.")}


# console.sso_settings.show
async def show(ctx: Context, provider_id: str, ui_locales: str | None = None) -> Page | Redirect:
    """Show the settings of a connection as a form."""
    return await show_form(
        ctx, provider_id, "settings", "settings.html", ui_locales, values_of=settings_form.values
    )


# console.sso_settings.update
async def update(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionSettingsForm) -> Redirect:
    """Change the settings of a connection, unless it was changed after the form was shown."""
    search.require(ctx, fresh=True)
    here = view(ctx)
    sent, names = settings_form.sent_fields({**body}), settings_form.attribute_names({**body})
    seen = identifiers.instant_or_none(body.get("version", ""))
    await forms.update_settings(ctx, provider_id, sent, names, seen=seen)
    return layout.done(ctx, here, page_of(provider_id), "connection-saved")


# console.sso_settings.show_provider
async def show_provider(ctx: Context, provider_id: str, ui_locales: str | None = None) -> Page | Redirect:
    """Show a form that replaces the identity provider of a connection."""
    return await show_form(ctx, provider_id, "provider", "provider.html", ui_locales)


# console.sso_settings.update_provider
async def update_provider(
    ctx: Context, provider_id: str, body: shapes.ConsoleConnectionProviderForm
) -> Redirect:
    """Replace the identity provider of a connection: its metadata, or its issuer and client."""
    search.require(ctx, fresh=True)
    here = view(ctx)
    # In a transaction of its own, because the provider may be called next.
    found = await ctx.in_new_transaction(partial(connections.get, provider_id=provider_id))
    with provider_form.named_fields():
        sent = provider_form.sent_fields({**body}, found.row.type, is_new=False)
        await connections.update(ctx, provider_id, sent)
    return layout.done(ctx, here, page_of(provider_id), "connection-saved")


# console.sso_settings.show_test
async def show_test(
    ctx: Context,
    provider_id: str,
    result: str | None = None,
    error: str | None = None,
    ui_locales: str | None = None,
) -> Page:
    """Show the result of a test sign-in, once; without a result, show a button that begins a test sign-in."""
    search.require(ctx)
    found = await connections.get(ctx, provider_id)
    page = page_of(provider_id)
    here = view(ctx, f"{page}/test", ui_locales)
    return layout.render(
        ctx,
        here,
        "sso/test.html",
        connection_url=here.url(page),
        action=here.action(f"{page}/test"),
        **await values(ctx, here, found),
        **await results.values(ctx, here, found.row, result, error),
    )


# console.sso_settings.begin_test
async def begin_test(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionButtonForm) -> Redirect:
    """Begin a test sign-in, and redirect to the identity provider."""
    search.require(ctx, fresh=True)
    redirect = await testing.begin(ctx, provider_id, view(ctx).url(f"{page_of(provider_id)}/test"))
    return Redirect(redirect.url, authorization_redirect(ctx, redirect, None).headers)
