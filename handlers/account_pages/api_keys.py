"""The page of the caller's API keys, and the forms that create and delete a key."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from domain.api_keys import creation, fields, keys
from domain.api_keys.errors import KeyNotFound
from domain.api_keys.policy import DEFAULT, ApiKeyPolicy, KeyKind
from domain.context import Context
from domain.localization import N_, Localization
from handlers import shapes
from handlers.account_pages import layout, shown_once
from handlers.account_pages.registry import NavigationItem
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ERROR_TEXTS: Mapping[str, str] = {
    "KEY_NOT_FOUND": N_("That key was deleted already."),
    "API_KEYS_CHANGED": N_(
        "Your keys have changed since this page was opened, so no key was created. Look at the list, and try again."
    ),
    "API_KEY_LIMIT_REACHED": N_("You have as many keys as are allowed. Delete one first."),
    "EXPIRES_IN_IS_TOO_LARGE": N_("Keys may not live that long here. Choose a shorter time."),
    "EXPIRES_IN_IS_TOO_SMALL": N_("Keys have to live longer here. Choose a longer time."),
    "INVALID_NAME_LENGTH": N_("This name is too short or too long."),
    "KEY_DISABLED_EXPIRATION": N_("The lifetime of these keys cannot be chosen."),
    "NAME_REQUIRED": N_("Enter a name."),
    "SERVER_ONLY_PROPERTY": N_("You may not give a key these permissions."),
}

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "NAME_REQUIRED": ("name",),
    "INVALID_NAME_LENGTH": ("name",),
    "EXPIRES_IN_IS_TOO_LARGE": ("expiresIn",),
    "EXPIRES_IN_IS_TOO_SMALL": ("expiresIn",),
    "KEY_DISABLED_EXPIRATION": ("expiresIn",),
    "SERVER_ONLY_PROPERTY": ("permissions",),
}

ACCOUNT_NAVIGATION = (
    NavigationItem(
        path="/api-keys",
        label=N_("API keys"),
        position=90,
        exists=lambda policy: policy[ApiKeyPolicy].enabled,
    ),
)

_NOTICES = {
    "deleted": N_("The key is deleted. Programs that use it are refused from now on."),
    "gone": N_("That key was deleted already."),
}
_CREATED = "/api-keys/created"
NEVER = "never"
_LIFETIMES = tuple(timedelta(days=days) for days in (1, 7, 30, 90, 365))
"""The lifetimes that the form offers if the settings allow them."""
_MOST = 1000
"""The most keys that the page shows."""


# account_pages.show_api_keys
async def show_api_keys(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show the caller's API keys, without their secret texts, and a form that creates a key."""
    view = views.view(ctx, "/api-keys", callback_url, ui_locales)
    policy = ctx.policy[ApiKeyPolicy]
    rows, _ = await keys.list_keys(ctx, keys.KeyQuery(None, None, "created_at", True, _MOST, 0))
    return layout.render(
        ctx,
        view,
        "api_keys.html",
        headers=shown_once.forget(ctx),
        notices=_NOTICES,
        reason=reason,
        keys=[(row, row.has_expired(ctx.now)) for row in rows],
        seen=await creation.state_of_list(ctx, ctx.signed_in.user),
        kinds=[(name, name) for name in policy.kinds_of(organizations=False)],
        lifetimes=lifetimes(view.localization, policy),
        grantable=_grantable(policy),
        require_name=policy.require_name,
        longest_name=policy.maximum_name_length,
    )


# account_pages.create_api_key
async def create_api_key(ctx: Context, body: shapes.ApiKeyForm) -> Redirect:
    """Create an API key, and redirect to the page that shows its text once."""
    view = views.view(ctx)
    row, text = await creation.create_once(
        ctx, _values(body), kind=body.get("kind") or None, seen=body.get("seen", "")
    )
    return shown_once.redirect(ctx, view, _CREATED, name=row.name, text=text)


# account_pages.show_new_api_key
async def show_new_api_key(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show the text of a new API key; redirect to the list of keys if the text is no longer available."""
    view = views.view(ctx, _CREATED, callback_url, ui_locales)
    content = shown_once.content_of(ctx, view, _CREATED)
    if content is None:
        return view.redirect("/api-keys")
    return layout.render(ctx, view, "api_key_created.html", **content)


# account_pages.show_api_key_deletion
async def show_api_key_deletion(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, key: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a key of the caller is deleted."""
    view = views.view(ctx, "/api-keys/delete", callback_url, ui_locales, key=key)
    gettext = view.localization.gettext
    try:
        row = await keys.get(ctx, key or "")
    except KeyNotFound:
        return view.redirect("/api-keys", reason="gone")
    return layout.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Delete this API key?"),
        name=row.name or row.start or gettext("Without a name"),
        effect=gettext("Programs that use it stop working at once. The key cannot be restored."),
        is_last=False,
        obstacle=None,
        field="key",
        id=row.id,
        button=gettext("Delete"),
        back="/api-keys",
    )


# account_pages.delete_api_key
async def delete_api_key(ctx: Context, body: shapes.ApiKeyDeletionForm) -> Redirect:
    """Delete a key of the caller."""
    view = views.view(ctx)
    try:
        await keys.delete_key(ctx, body["key"])
    # A form that is sent twice, or from a stale page, has reached its goal already.
    except KeyNotFound:
        return view.redirect("/api-keys", reason="gone")
    return view.redirect("/api-keys", reason="deleted")


def _values(body: shapes.ApiKeyForm) -> fields.Fields:
    """Return the fields that were filled in, by their JSON names."""
    values: dict[str, Any] = {}
    if name := body.get("name", "").strip():
        values["name"] = name
    if lasts := body.get("expiresIn"):
        values["expiresIn"] = None if lasts == NEVER else int(lasts)
    if written := permissions(body.get("permissions", "")):
        values["permissions"] = written
    return values


def permissions(text: str) -> dict[str, list[str]]:
    """Parse permissions such as `user:get user:list`; return the actions of each resource.

    The syntax is not checked: a word without a colon becomes a resource with an empty action.
    """
    actions: dict[str, list[str]] = {}
    for written in text.split():
        resource, _, action = written.partition(":")
        actions.setdefault(resource, []).append(action)
    return actions


def lifetimes(localization: Localization, policy: ApiKeyPolicy) -> Sequence[tuple[str, str]]:
    """Return the lifetimes that the form of an API key offers, each as the value in the form and its label.

    The value is a number of seconds, `never`, or empty for the default lifetime, which comes first.
    """
    kinds = [kind for kind in policy.kinds.values() if kind.custom_expiry]
    usual = fields.default_expiry(policy, policy.kinds[DEFAULT])
    never = localization.gettext("No expiry")
    choices = [("", never if usual is None else localization.format_duration(usual))]
    for lasts in _LIFETIMES:
        if lasts != usual and any(_is_allowed(kind, lasts) for kind in kinds):
            choices.append((str(int(lasts.total_seconds())), localization.format_duration(lasts)))
    if kinds and policy.allow_never and usual is not None:
        choices.append((NEVER, never))
    return choices


def _is_allowed(kind: KeyKind, lasts: timedelta) -> bool:
    return kind.minimum_expires_in <= lasts <= kind.maximum_expires_in


def _grantable(policy: ApiKeyPolicy) -> Sequence[str]:
    """Return the permissions that owners may grant their keys, in the form `resource:action`."""
    return sorted(
        {
            f"{resource}:{action}"
            for kind in policy.kinds.values()
            for resource, actions in kind.grantable.items()
            for action in actions
        }
    )
