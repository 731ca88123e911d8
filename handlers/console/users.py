"""The list of users, with search and filters, and its export as CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from domain.admin import search as user_search
from domain.admin import selection, user_access
from domain.admin.search import UserSearch
from domain.admin.user_access import SignInMethods
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.identity_provider import IdentityProviders
from domain.localization import N_
from domain.users import roles
from domain.users.policy import RolePolicy
from handlers.admin import users_file
from handlers.console import layout, lists, registry
from handlers.console.registry import Hit, NavigationItem, Search
from handlers.console.view import ConsoleView, view
from handlers.pages import sign_in_methods
from handlers.positions import positions
from handlers.responses.reply import Page, Stream
from models import CREDENTIAL
from models.user import UserRow

_HITS = 5


class _Row(NamedTuple):
    """A user in the list, with computed values: a template that calls functions takes three times as long."""

    user: UserRow
    url: str
    name: str
    is_banned: bool
    roles: Sequence[str]
    signs_in_with: str
    last_sign_in: datetime | None


# console.users.show_list
async def show_list(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    match: Any = None,
    role: str | None = None,
    banned: str | None = None,
    verified: str | None = None,
    two_factor: str | None = None,
    provider: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    sort: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of the users that match `search` and all filters."""
    text, sort = (search or "").strip(), sort or "created"
    after_position, before_position = positions(after, before, lambda sent: user_search.decode(sent, sort))
    wanted = replace(
        _filtered(text, match, role, banned, verified, two_factor, provider, from_, to),
        sort=sort,
        limit=ctx.policy[ConsolePolicy].page_size,
        after=after_position,
        before=before_position,
    )
    filters = {
        "search": text,
        "match": match,
        "role": role,
        "banned": banned,
        "verified": verified,
        "twoFactor": two_factor,
        "provider": provider,
        "from": from_,
        "to": to,
        "sort": sort if sort != "created" else None,
    }
    here = view(ctx, "/users", ui_locales, **{name: value or None for name, value in filters.items()})
    found = await user_search.search_users(ctx, wanted)
    methods = await user_access.methods_of(ctx, found.users)
    providers = _providers(ctx, here)
    labels = dict(providers)
    return layout.render(
        ctx,
        here,
        "users/list.html",
        found=found,
        newer=found.previous and here.url("/users", **here.query, before=user_search.encode(found.previous)),
        older=found.next and here.url("/users", **here.query, after=user_search.encode(found.next)),
        export_url=here.url("/users/export", **{**here.query, "sort": None}),
        acts=[act for act, (permission, _) in selection.ACTS.items() if registry.may(ctx, *permission)],
        rows=[_row(here, user, methods[user.id], labels) for user in found.users],
        filters=filters,
        active=sum(bool(value) for name, value in filters.items() if name not in ("search", "match", "sort")),
        role_names=[(name, name) for name in ctx.policy[RolePolicy].roles],
        providers=providers,
    )


def _row(here: ConsoleView, user: UserRow, methods: SignInMethods, labels: Mapping[str, str]) -> _Row:
    names = [labels.get(name) or provider_name(here, name) for name in methods.providers]
    if methods.passkeys:
        names.append(here.localization.gettext("Passkey"))
    return _Row(
        user,
        here.url(f"/users/{user.id}"),
        here.name_of(user),
        user.is_banned(here.now),
        roles.split(user.role),
        ", ".join(names),
        methods.last_sign_in,
    )


# console.users.export
async def export(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    match: Any = None,
    role: str | None = None,
    banned: str | None = None,
    verified: str | None = None,
    two_factor: str | None = None,
    provider: str | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> Stream:
    """Return all users that match the filters, as a CSV file."""
    text = (search or "").strip()
    wanted = _filtered(text, match, role, banned, verified, two_factor, provider, from_, to)
    return users_file(ctx, await user_search.export_users(ctx, wanted))


def _filtered(  # noqa: PLR0913 - one parameter per filter
    text: str,
    match: Any,
    role: str | None,
    banned: str | None,
    verified: str | None,
    two_factor: str | None,
    provider: str | None,
    from_: str | None,
    to: str | None,
) -> UserSearch:
    """Return the search for users with the filters of the form. Raises ValidationError if a day is malformed."""
    return UserSearch(
        text=text,
        match=match or None,
        role=role or None,
        banned=lists.flag(banned),
        email_verified=lists.flag(verified),
        two_factor_enabled=lists.flag(two_factor),
        provider=provider or None,
        created_from=lists.first_day(from_),
        created_before=lists.last_day(to),
    )


def _providers(ctx: Context, here: ConsoleView) -> Sequence[tuple[str, str]]:
    return [(name, provider_name(here, name)) for name in (CREDENTIAL, *ctx.port[IdentityProviders])]


def provider_name(here: ConsoleView, provider_id: str) -> str:
    """Return the name of a provider; for accounts with a password, the word for a password."""
    return (
        here.localization.gettext("Password")
        if provider_id == CREDENTIAL
        else sign_in_methods.provider_name(provider_id)
    )


async def _find(ctx: Context, here: ConsoleView, text: str) -> Sequence[Hit]:
    found = await user_search.search_users(ctx, UserSearch(text=text, limit=_HITS))
    return [Hit(here.name_of(user), user.email, here.url(f"/users/{user.id}")) for user in found.users]


NAVIGATION = (NavigationItem(path="/users", label=N_("Users"), permission=("user", "list"), position=20),)
SEARCHES = (
    Search(label=N_("Users"), permission=("user", "list"), position=20, find=_find, list_path="/users"),
)
