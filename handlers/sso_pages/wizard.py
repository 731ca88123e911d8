"""The steps to a new connection: choose the identity provider, copy values to it, and enter its values here."""

from typing import NamedTuple

from domain.context import Context
from domain.sso import endpoints
from domain.sso_connections import forms
from handlers import shapes
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import layout, providers
from handlers.sso_pages.provider_form import named_fields, sent_fields
from handlers.sso_pages.providers import OIDC


# sso_pages.show_providers
async def show_providers(
    ctx: Context, id_: str, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for the identity provider and the protocol."""
    opened = await layout.open_page(ctx, id_, "/new", callback_url, ui_locales)
    if isinstance(opened, Redirect):
        return opened
    return layout.render(ctx, opened, "providers.html", providers=providers.PROVIDERS.values())


class _Step(NamedTuple):
    """The identity provider and the protocol that were chosen in the first step."""

    provider: providers.IdentityProvider
    protocol: str

    @property
    def guide(self) -> providers.Guide:
        return self.provider.guides[self.protocol]


def _chosen(provider: str | None, protocol: str | None) -> _Step:
    chosen = providers.provider_of(provider)
    return _Step(chosen, providers.protocol_of(chosen, protocol))


# sso_pages.show_values
async def show_values(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    provider: str | None = None,
    protocol: str | None = None,
) -> Page | Redirect:
    """Show the URLs of this service, and where to enter them at the identity provider."""
    step = _chosen(provider, protocol)
    opened = await layout.open_page(
        ctx, id_, "/new/copy", callback_url, ui_locales, provider=provider, protocol=protocol
    )
    if isinstance(opened, Redirect):
        return opened
    provider_id = await forms.unused_id(ctx, opened.organization.slug, step.provider.key)
    is_oidc = step.protocol == OIDC
    url_of = endpoints.callback_url if is_oidc else endpoints.acs_url
    return layout.render(
        ctx,
        opened,
        "values.html",
        step=step,
        provider_id=provider_id,
        first=url_of(ctx.policy, provider_id),
        second=None if is_oidc else endpoints.metadata_url(ctx.policy, provider_id),
    )


# sso_pages.show_creation
async def show_creation(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    provider: str | None = None,
    protocol: str | None = None,
    provider_id: str | None = None,
) -> Page | Redirect:
    """Ask for the data of the identity provider; redirect to the first step if there is no `provider_id`."""
    step = _chosen(provider, protocol)
    opened = await layout.open_page(
        ctx,
        id_,
        "/new/provider",
        callback_url,
        ui_locales,
        provider=provider,
        protocol=protocol,
        providerId=provider_id,
    )
    if isinstance(opened, Redirect):
        return opened
    if not provider_id:
        return opened.view.redirect(layout.path_of(id_, "/new"))
    return layout.render(ctx, opened, "creation.html", step=step, provider_id=provider_id)


# sso_pages.create_connection
async def create_connection(ctx: Context, id_: str, body: shapes.SsoCreationForm) -> Redirect:
    """Create a connection in the state draft, and redirect to the page with its domains."""
    view, protocol = views.view(ctx), body["protocol"]
    with named_fields():
        sent = sent_fields({**body}, protocol)
        named = {"providerId": body["providerId"], "name": body["name"].strip()}
        row = await forms.create(ctx, id_, {**named, **sent})
    return layout.to(view, id_, "/domains", row.provider_id)
