"""All organizations: the list, the export, the search, and the organizations of one user."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.admin_organizations import search as organization_search
from domain.admin_organizations.search import OrganizationSearch
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.localization import N_
from domain.organizations.policy import OrganizationPolicy
from domain.policy import Policy
from domain.users import roles
from handlers import wire
from handlers.admin_organizations import organizations_file
from handlers.console import layout
from handlers.console.registry import Figure, Hit, NavigationItem, Search, Tile, UserSection
from handlers.console.view import ConsoleView, view
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Stream
from models.user import UserRow

_HITS = 5
_OF_USER = 20
"""The most organizations that the page of a user shows."""
_PERMISSION = ("organization", "manage")


# console.organizations.show_list
async def show_list(
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    member: str | None = None,
    without_owner: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of organizations."""
    after_position, before_position = positions(after, before, time_position)
    filters = _filters(search, member, without_owner)
    found = await organization_search.list_organizations(
        ctx,
        _wanted(filters),
        after=after_position,
        before=before_position,
        limit=ctx.policy[ConsolePolicy].page_size,
    )
    here, page = view(ctx, "/organizations", ui_locales, **filters), found.page
    return layout.render(
        ctx,
        here,
        "organizations/list.html",
        found=found,
        newer=page.previous and here.url("/organizations", **here.query, before=wire.cursor(page.previous)),
        older=page.next and here.url("/organizations", **here.query, after=wire.cursor(page.next)),
        export_url=here.url("/organizations/export", **here.query),
        filters=filters,
        active=sum(bool(value) for name, value in filters.items() if name == "withoutOwner"),
    )


# console.organizations.export
async def export(
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    member: str | None = None,
    without_owner: str | None = None,
) -> Stream:
    """Return all organizations that match the filters, as a CSV file."""
    wanted = _wanted(_filters(search, member, without_owner))
    return organizations_file(ctx, await organization_search.export_organizations(ctx, wanted))


def _filters(search: str | None, member: str | None, without_owner: str | None) -> Mapping[str, str | None]:
    return {
        "search": (search or "").strip() or None,
        "member": (member or "").strip() or None,
        "withoutOwner": without_owner or None,
    }


def _wanted(filters: Mapping[str, str | None]) -> OrganizationSearch:
    return OrganizationSearch(
        filters["search"] or "", filters["member"], without_owner=filters["withoutOwner"] is not None
    )


async def _find(ctx: Context, here: ConsoleView, text: str) -> Sequence[Hit]:
    found = await organization_search.list_organizations(ctx, OrganizationSearch(text), limit=_HITS)
    rows = [one.organization for one in found.page.rows]
    return [Hit(row.name, row.slug, here.url(f"/organizations/{row.id}")) for row in rows]


async def _figures(ctx: Context, here: ConsoleView) -> Sequence[Figure]:
    number = await organization_search.count_organizations(ctx)
    return [Figure(here.localization.gettext("Organizations"), number, here.url("/organizations"))]


async def _load(ctx: Context, here: ConsoleView, user: UserRow) -> Mapping[str, Any]:
    """Return the first organizations of a user and the user's roles in them, as template values."""
    found = await organization_search.list_memberships(ctx, user.id)
    return {
        "memberships": [
            (row, roles.split(member.role), member.created_at) for member, row in found[:_OF_USER]
        ],
        "all_url": here.url("/organizations", member=user.id) if len(found) > _OF_USER else None,
    }


def _exists(policy: Policy) -> bool:
    return policy[OrganizationPolicy].enabled


NAVIGATION = (
    NavigationItem(
        path="/organizations",
        label=N_("Organizations"),
        permission=_PERMISSION,
        position=30,
        exists=_exists,
    ),
)
SEARCHES = (
    Search(
        label=N_("Organizations"),
        permission=_PERMISSION,
        position=30,
        find=_find,
        list_path="/organizations",
        exists=_exists,
    ),
)
TILES = (Tile(permission=_PERMISSION, position=20, load=_figures, exists=_exists),)
USER_SECTIONS = (
    UserSection(
        name="organizations",
        label=N_("Organizations"),
        permission=_PERMISSION,
        position=50,
        load=_load,
        exists=_exists,
    ),
)
