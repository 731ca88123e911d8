"""The API keys of all users and organizations: the list, one key, and the forms that change and delete a key."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from domain.admin import api_keys, permissions, targets
from domain.admin.api_keys import KeyFilter
from domain.admin.errors import YouAreNotAllowedToListApiKeys
from domain.api_keys import keys, owners
from domain.api_keys.errors import KeyNotFound
from domain.api_keys.owners import Owner
from domain.api_keys.policy import ApiKeyPolicy
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.localization import N_
from domain.policy import Policy
from domain.users import roles
from handlers import shapes, wire
from handlers.account_pages import shown_once
from handlers.account_pages.api_keys import lifetimes
from handlers.console import layout, lists
from handlers.console.key_fields import changes, form_values
from handlers.console.registry import Hit, NavigationItem, Search, UserSection
from handlers.console.view import ConsoleView, view
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect
from models.api_key import ApiKeyRow
from models.user import UserRow

ERROR_TEXTS: Mapping[str, str] = {
    "API_KEYS_CHANGED": N_(
        "The keys of this user were changed after you opened this form, so nothing was done. Check them, and try again."
    ),
    "API_KEY_LIMIT_REACHED": N_("This user has as many keys as are allowed. Delete one first."),
}

NOTICES = {
    "key-saved": N_("The key is saved."),
    "key-disabled": N_("The key is disabled. Programs that use it are refused from now on."),
    "key-enabled": N_("The key is enabled."),
    "key-deleted": N_("The key is deleted. Programs that use it are refused from now on."),
    "key-gone": N_("That key was deleted already."),
}
_STATES = {"active": N_("Active"), "disabled": N_("Disabled"), "expired": N_("Expired")}
_HITS = 5
_OF_USER = 20
"""The most keys that the page of a user shows."""


# console.api_keys.show_list
async def show_list(
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    owner: str | None = None,
    kind: str | None = None,
    state: Any = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of API keys."""
    older_than, newer_than = positions(after, before, time_position)
    filters: Mapping[str, str | None] = {
        "search": (search or "").strip() or None,
        "owner": (owner or "").strip() or None,
        "kind": kind or None,
        "state": state or None,
    }
    kinds = ctx.policy[ApiKeyPolicy].kinds
    if kind and kind not in kinds:
        lists.refuse("kind", "must be a kind of keys")
    wanted = KeyFilter(
        filters["search"], filters["owner"], filters["kind"], cast(api_keys.State | None, state or None)
    )
    found = await api_keys.list_keys(
        ctx, wanted, before=older_than, after=newer_than, limit=ctx.policy[ConsolePolicy].page_size
    )
    here = view(ctx, "/api-keys", ui_locales, **filters)
    return layout.render(
        ctx,
        here,
        "api_keys/list.html",
        headers=shown_once.forget(ctx),
        keys=[{**_line(ctx, one.key), "owner": shown_owner(one.owner)} for one in found.keys],
        newer=found.first and here.url("/api-keys", **here.query, before=wire.cursor(found.first)),
        older=found.last and here.url("/api-keys", **here.query, after=wire.cursor(found.last)),
        filters=filters,
        active=sum(bool(value) for name, value in filters.items() if name not in ("search", "owner")),
        kinds=[(name, name) for name in kinds] if len(kinds) > 1 else (),
        states=[(name, here.localization.gettext(label)) for name, label in _STATES.items()],
    )


def _line(ctx: Context, row: ApiKeyRow) -> Mapping[str, Any]:
    """Return the template values for a key in a list."""
    granted = orjson.loads(row.permissions or "{}")
    return {
        "key": row,
        "has_expired": row.has_expired(ctx.now),
        "permissions": [
            f"{resource}:{action}" for resource, actions in granted.items() for action in actions
        ],
    }


def shown_owner(owner: Owner) -> Mapping[str, Any]:
    """Return the template values for the owner of a key.

    `address` is the email address of a user or the slug of an organization.
    """
    is_user = isinstance(owner, UserRow)
    address = owner.email if isinstance(owner, UserRow) else owner.slug
    return {"id": owner.id, "name": owner.name, "address": address, "is_user": is_user}


async def _owned(ctx: Context, key_id: str) -> tuple[ApiKeyRow, Owner]:
    """Return a key and its owner.

    Raises YouAreNotAllowedToListApiKeys, KeyNotFound, and YouAreNotAllowedToManageApiKeys if the caller has fewer
    powers than the user who owns the key.
    """
    permissions.require(ctx, "apiKey", "manage", YouAreNotAllowedToListApiKeys)
    row = await keys.get(ctx, key_id)
    return row, await owners.of(ctx, row)


def _page_of(row: ApiKeyRow) -> str:
    return f"/api-keys/{row.id}"


# console.api_keys.show
async def show(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show a key."""
    return await _show(ctx, id_, "", "show.html", ui_locales)


async def _show(
    ctx: Context, key_id: str, act: str, template: str, ui_locales: str | None, **values: Any
) -> Page:
    """Return a page about a key; `act` is what the page's path has after the path of the key, such as `/edit`."""
    row, owner = await _owned(ctx, key_id)
    here = view(ctx, _page_of(row) + act, ui_locales)
    creator = await targets.names_of(ctx, {row.created_by})
    return layout.render(
        ctx,
        here,
        f"api_keys/{template}",
        **_line(ctx, row),
        owner=shown_owner(owner),
        creator=creator.get(row.created_by or ""),
        page=_page_of(row),
        key_name=row.name or row.start or here.localization.gettext("Without a name"),
        **values,
    )


def bounds(policy: ApiKeyPolicy) -> Mapping[str, Any]:
    """Return the template values with the rules for the name of a key; its longest length is in characters."""
    return {"require_name": policy.require_name, "longest_name": policy.maximum_name_length}


# console.api_keys.show_edit
async def show_edit(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show the fields of a key as a form."""
    row, _ = await _owned(ctx, id_)
    policy, localization = ctx.policy[ApiKeyPolicy], view(ctx, None, ui_locales).localization
    keep = [("", localization.gettext("No change")), *lifetimes(localization, policy)[1:]]
    return await _show(
        ctx,
        id_,
        "/edit",
        "edit.html",
        ui_locales,
        values=form_values(row),
        version=keys.version(row),
        lifetimes=keep,
        **bounds(policy),
    )


# console.api_keys.update
async def update(ctx: Context, id_: str, body: shapes.ConsoleApiKeyForm) -> Redirect:
    """Change the fields of a key that the form changes, unless the key was changed after the form was shown."""
    here = view(ctx)
    row, _ = await _owned(ctx, id_)
    wanted = changes(row, {**body})
    if wanted:
        await keys.update_key(ctx, row.id, wanted, seen=body.get("version", ""))
    return layout.done(ctx, here, _page_of(row), "key-saved")


# console.api_keys.show_disabling
async def show_disabling(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before a key is disabled."""
    return await _show(ctx, id_, "/disable", "disable.html", ui_locales)


# console.api_keys.disable
async def disable(ctx: Context, id_: str, body: shapes.ConsoleKeyButtonForm) -> Redirect:
    """Disable a key."""
    return await _set_enabled(ctx, id_, "key-disabled", enabled=False)


# console.api_keys.enable
async def enable(ctx: Context, id_: str, body: shapes.ConsoleKeyButtonForm) -> Redirect:
    """Enable a key."""
    return await _set_enabled(ctx, id_, "key-enabled", enabled=True)


async def _set_enabled(ctx: Context, key_id: str, notice: str, *, enabled: bool) -> Redirect:
    here = view(ctx)
    row, _ = await _owned(ctx, key_id)
    if row.enabled != enabled:
        await keys.update_key(ctx, row.id, {"enabled": enabled})
    return layout.done(ctx, here, _page_of(row), notice)


# console.api_keys.show_deletion
async def show_deletion(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before a key is deleted."""
    try:
        return await _show(ctx, id_, "/delete", "delete.html", ui_locales)
    except KeyNotFound:
        return layout.done(ctx, view(ctx, None, ui_locales), "/api-keys", "key-gone")


# console.api_keys.delete
async def delete(ctx: Context, id_: str, body: shapes.ConsoleKeyButtonForm) -> Redirect:
    """Delete a key."""
    here = view(ctx)
    try:
        await _owned(ctx, id_)
        await keys.delete_key(ctx, id_)
    except KeyNotFound:  # A form that is sent twice.
        return layout.done(ctx, here, "/api-keys", "key-gone")
    return layout.done(ctx, here, "/api-keys", "key-deleted")


async def _find(ctx: Context, here: ConsoleView, text: str) -> Sequence[Hit]:
    found = await api_keys.list_keys(ctx, KeyFilter(start=text), limit=_HITS)
    return [
        Hit(
            f"{one.key.start}…",
            one.key.name or shown_owner(one.owner)["address"],
            here.url(_page_of(one.key)),
        )
        for one in found.keys
    ]


async def _load(ctx: Context, here: ConsoleView, user: UserRow) -> Mapping[str, Any]:
    """Return the newest keys of a user as template values."""
    if not roles.outranks(ctx.policy, ctx.signed_in.user, user):
        return {"keys": None}
    rows, total = await keys.list_keys(ctx, keys.KeyQuery(None, user.id, "created_at", True, _OF_USER, 0))
    return {
        "keys": [_line(ctx, row) for row in rows],
        "all_url": here.url("/api-keys", owner=user.id) if total > len(rows) else None,
        "create_url": here.url("/api-keys/new", owner=user.id),
    }


def _exists(policy: Policy) -> bool:
    return policy[ApiKeyPolicy].enabled


NAVIGATION = (
    NavigationItem(
        path="/api-keys", label=N_("API keys"), permission=("apiKey", "manage"), position=40, exists=_exists
    ),
)
SEARCHES = (
    Search(
        label=N_("API keys"),
        permission=("apiKey", "manage"),
        position=40,
        find=_find,
        list_path="/api-keys",
        exists=_exists,
    ),
)
USER_SECTIONS = (
    UserSection(
        name="api_keys",
        label=N_("API keys"),
        permission=("apiKey", "manage"),
        position=40,
        load=_load,
        exists=_exists,
    ),
)
