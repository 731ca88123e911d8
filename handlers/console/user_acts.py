"""The actions that the current administrator may take on a user.

They decide which buttons the page of the user has, and which forms can be opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from domain.admin import permissions, targets
from domain.admin.errors import (
    YouAreNotAllowedToBanUsers,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToDeleteUsers,
    YouAreNotAllowedToGetUser,
    YouAreNotAllowedToImpersonateUsers,
    YouAreNotAllowedToRemoveUsersAccess,
    YouAreNotAllowedToResetTwoFactor,
    YouAreNotAllowedToRevokeUsersSessions,
    YouAreNotAllowedToSetUsersEmail,
    YouAreNotAllowedToSetUsersPassword,
    YouAreNotAllowedToUpdateUsers,
)
from domain.context import Context
from domain.errors import Forbidden
from domain.users import roles
from domain.users.policy import Permission
from handlers.console import layout, registry
from handlers.console.view import ConsoleView, view
from handlers.responses.reply import Page
from models.user import UserRow


@dataclass(frozen=True, slots=True)
class Act:
    """An action of administrators on a user, with the checks that its function in `domain.admin` makes."""

    permission: Permission
    error: type[Forbidden]
    fresh: bool = False
    on_own: bool = False
    """Whether administrators may also do it to themselves."""
    also: Permission | None = None
    """A second permission that the action requires."""


ACTS: Mapping[str, Act] = {
    "edit": Act(("user", "update"), YouAreNotAllowedToUpdateUsers, on_own=True),
    "set-roles": Act(("user", "set-role"), YouAreNotAllowedToChangeUsersRole, fresh=True, on_own=True),
    "ban": Act(("user", "ban"), YouAreNotAllowedToBanUsers),
    "set-email": Act(
        ("user", "set-email"), YouAreNotAllowedToSetUsersEmail, fresh=True, also=("user", "update")
    ),
    "set-password": Act(("user", "set-password"), YouAreNotAllowedToSetUsersPassword, fresh=True),
    "send-reset": Act(("user", "update"), YouAreNotAllowedToUpdateUsers),
    "reset-two-factor": Act(("user", "reset-two-factor"), YouAreNotAllowedToResetTwoFactor, fresh=True),
    "remove-access": Act(("user", "set-password"), YouAreNotAllowedToRemoveUsersAccess, fresh=True),
    "impersonate": Act(("user", "impersonate"), YouAreNotAllowedToImpersonateUsers, fresh=True),
    "end-grants": Act(("session", "revoke"), Forbidden, on_own=True, also=("session", "list")),
    "end-sessions": Act(("session", "revoke"), YouAreNotAllowedToRevokeUsersSessions, on_own=True),
    "export": Act(
        ("user", "get"), YouAreNotAllowedToGetUser, fresh=True, on_own=True, also=("session", "list")
    ),
    "delete": Act(("user", "delete"), YouAreNotAllowedToDeleteUsers, fresh=True),
}


def allowed(ctx: Context, user: UserRow) -> frozenset[str]:
    """Return the names of the actions, keys of `ACTS`, that the caller may do to a user. Operations check it again."""
    if not roles.outranks(ctx.policy, ctx.signed_in.user, user):
        return frozenset()
    is_own = targets.is_own(ctx, user.id)
    return frozenset(
        name
        for name, act in ACTS.items()
        if (act.on_own or not is_own)
        and registry.may(ctx, *act.permission)
        and (act.also is None or registry.may(ctx, *act.also))
    )


async def target(ctx: Context, user_id: str, name: str) -> UserRow:
    """Return the user of a form for the action `name`, a key of `ACTS`.

    Raises the error of the action if the caller lacks a permission, has fewer powers than the user, or may not do it to
    themselves. Raises TwoFactorRequired, UserNotFound, and SessionNotFresh if the action requires a recent sign-in.
    """
    act = ACTS[name]
    if act.also is not None:
        permissions.require(ctx, *act.also, act.error)
    permissions.require(ctx, *act.permission, act.error, fresh=act.fresh)
    if not act.on_own:
        targets.refuse_own(ctx, user_id, act.error)
    user = await targets.existing(ctx, user_id)
    permissions.check_rank(ctx, user, act.error)
    return user


def page_of(user_id: str) -> str:
    """Return the path of the page of a user, below the path of the console."""
    return f"/users/{quote(user_id, safe='')}"


def show_form(
    ctx: Context, user: UserRow, act: str, template: str, ui_locales: str | None, **values: Any
) -> Page:
    """Return the page with the form of an action on a user; `act` is the last part of the page's path.

    `values` are for the template, except for `query`, the query of the page.
    """
    query = values.pop("query", {})
    here: ConsoleView = view(ctx, f"{page_of(user.id)}/{act}", ui_locales, **query)
    return layout.render(
        ctx,
        here,
        f"user/{template}",
        target=user,
        version=targets.version(user),
        user_url=here.url(page_of(user.id)),
        action=here.action(f"{page_of(user.id)}/{act}"),
        **values,
    )
