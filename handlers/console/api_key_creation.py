"""The pages that create an API key for a user or an organization."""

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToListApiKeys
from domain.api_keys import creation, owners
from domain.api_keys.policy import ApiKeyPolicy
from domain.context import Context
from domain.localization import N_
from domain.users import roles
from domain.users.errors import UserNotFound
from handlers import shapes
from handlers.account_pages import shown_once
from handlers.account_pages.api_keys import lifetimes
from handlers.console import layout
from handlers.console.api_keys import bounds, shown_owner
from handlers.console.key_fields import requested
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect
from models.user import UserRow

FIELD_LABELS = {"owner": N_("Owner")}
_CREATED = "/api-keys/created"


# console.api_key_creation.show
async def show(ctx: Context, owner: str | None = None, ui_locales: str | None = None) -> Page:
    """Ask for the owner of a new API key; if the owner is found, show the form for the key."""
    permissions.require(ctx, "apiKey", "manage", YouAreNotAllowedToListApiKeys)
    identifier = (owner or "").strip()
    found = await owners.look_up(ctx, identifier) if identifier else None
    here = view(ctx, "/api-keys/new", ui_locales, owner=identifier or None)
    policy = ctx.policy[ApiKeyPolicy]
    if found is None:
        of_organizations = bool(policy.kinds_of(organizations=True))
        return layout.render(
            ctx, here, "api_keys/owner.html", owner=identifier, of_organizations=of_organizations
        )
    is_user = isinstance(found, UserRow)
    return layout.render(
        ctx,
        here,
        "api_keys/new.html",
        owner=shown_owner(found),
        is_outranked=isinstance(found, UserRow) and not roles.outranks(ctx.policy, ctx.signed_in.user, found),
        seen=await creation.state_of_list(ctx, found),
        values={},
        kinds=[(name, name) for name in policy.kinds_of(organizations=not is_user)],
        lifetimes=lifetimes(here.localization, policy),
        **bounds(policy),
    )


# console.api_key_creation.create
async def create(ctx: Context, body: shapes.ConsoleNewKeyForm) -> Redirect:
    """Create an API key, and redirect to the page that shows its text once."""
    here = view(ctx)
    # Only by id: a user may have the id of an organization as a username.
    owner = await owners.by_id(ctx, body["owner"])
    if owner is None:
        raise UserNotFound
    row, text = await creation.create_once(
        ctx, requested({**body}), kind=body.get("kind") or None, owner=owner, seen=body.get("seen", "")
    )
    return shown_once.redirect(
        ctx, here, _CREATED, name=row.name, owner=shown_owner(owner)["address"], text=text
    )


# console.api_key_creation.show_created
async def show_created(ctx: Context, ui_locales: str | None = None) -> Page | Redirect:
    """Show the text of a new API key; redirect to the list of keys if the text is no longer available."""
    here = view(ctx, _CREATED, ui_locales)
    content = shown_once.content_of(ctx, here, _CREATED)
    if content is None:
        return here.redirect("/api-keys")
    return layout.render(ctx, here, "api_keys/created.html", **content)
