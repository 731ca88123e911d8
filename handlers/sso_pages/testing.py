"""The page of test sign-ins: what the identity provider sent, and what a real sign-in would do."""

from domain.context import Context
from domain.sso_connections import testing
from handlers import shapes
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import authorization_redirect
from handlers.sso_pages import layout, results

_PAGE = "/test"


# sso_pages.show_test
async def show_test(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    result: str | None = None,
    error: str | None = None,
) -> Page | Redirect:
    """Show the result of a test sign-in, once; without a result, show a button that begins a test sign-in."""
    opened = await layout.open_connection(ctx, id_, _PAGE, callback_url, ui_locales, connection)
    if isinstance(opened, Redirect):
        return opened
    values = await results.values(ctx, opened.view, opened.connection.row, result, error)
    return layout.render(ctx, opened, "test.html", **values)


# sso_pages.begin_test
async def begin_test(ctx: Context, id_: str, body: shapes.SsoConnectionForm) -> Redirect:
    """Begin a test sign-in, and redirect to the identity provider."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    back = view.url(layout.path_of(id_, f"/connection{_PAGE}"), connection=provider_id)
    redirect = await testing.begin(ctx, provider_id, back)
    return Redirect(redirect.url, authorization_redirect(ctx, redirect, None).headers)
