"""The operations of openapi/paths/admin.yaml.

For administrators: list, create, change, ban and delete users, and end their sessions.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from domain import identifiers
from domain.admin import impersonation, listing, user_access, user_fields, user_sessions, users
from domain.admin import search as user_search
from domain.admin.errors import PasswordCannotBeUpdatedViaUpdateUser, UserIdCannotBeUpdated
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import active
from domain.sessions.sessions import OpenedSession
from domain.users.errors import FieldNotAllowed
from handlers import shapes, wire
from handlers.accounts import account_shape
from handlers.passkeys import passkey_shape
from handlers.positions import positions
from handlers.responses import cookies, spreadsheets
from handlers.responses.reply import Download, Reply, Stream
from handlers.responses.sessions import (
    impersonated_response,
    restored_response,
    sign_out_response,
    stopped_response,
)
from models.user import UserRow

_COLUMNS = {
    "name": "name",
    "image": "image",
    "username": "username",
    "displayUsername": "display_username",
    "role": "role",
    "email": "email",
    "emailVerified": "email_verified",
    "banned": "banned",
    "banReason": "ban_reason",
    "banExpires": "ban_expires",
    "locale": "locale",
}
"""The fields of a user that administrators may change, and their columns."""

_LISTED = {
    **_COLUMNS,
    "id": "id",
    "twoFactorEnabled": "two_factor_enabled",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
}
"""The fields that lists may be filtered or sorted by, and their columns; the contract allows fewer for sorting."""

_BAN = ("banned", "banReason", "banExpires")
_OWNED = ("twoFactorEnabled", "createdAt", "updatedAt")


# admin.list_users
async def list_users(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    search_value: str | None = None,
    search_field: str | None = None,
    search_operator: str | None = None,
    filter_field: str | None = None,
    filter_operator: str | None = None,
    filter_value: list[str] | None = None,
    sort_by: str | None = None,
    sort_direction: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
) -> shapes.UserPage:
    """Return a page of users. A user must match both the search and the filter, if both are given."""
    query = listing.UserQuery(
        search=search_value or None,
        search_field=search_field or "email",
        search_operator=search_operator or "contains",
        filter_field=_LISTED[filter_field or "email"],
        filter_operator=filter_operator or "eq",
        filter_values=filter_value,
        # From a fixed list: a name in the request never becomes part of a statement.
        sort_by=_LISTED[sort_by or "createdAt"],  # defence: ADM15 columns
        descending=(sort_direction or ("desc" if sort_by is None else "asc")) == "desc",
        limit=100 if limit is None else limit,
        offset=offset or 0,
    )
    page = await listing.list_users(ctx, query)
    return {
        "users": [wire.user(row) for row in page.users],
        "total": page.total,
        "totalCapped": page.is_capped,
        "limit": query.limit,
        "offset": query.offset,
    }


# admin.search_users
async def search_users(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    search: str | None = None,
    match: Any = None,
    role: str | None = None,
    banned: bool | None = None,
    email_verified: bool | None = None,
    two_factor_enabled: bool | None = None,
    provider: str | None = None,
    created_from: str | None = None,
    created_before: str | None = None,
    sort: str | None = None,
    limit: int | None = None,
    after: str | None = None,
    before: str | None = None,
) -> shapes.FoundUsers:
    """Return a page of the users that match the text `search` and all filters.

    Without `match`, `search` is compared in the best way that finds any user.
    """
    sort = sort or "created"
    after_position, before_position = positions(after, before, lambda sent: user_search.decode(sent, sort))
    found = await user_search.search_users(
        ctx,
        user_search.UserSearch(
            text=(search or "").strip(),
            match=match,
            role=role,
            banned=banned,
            email_verified=email_verified,
            two_factor_enabled=two_factor_enabled,
            provider=provider,
            created_from=_time("createdFrom", created_from),
            created_before=_time("createdBefore", created_before),
            sort=sort,
            limit=100 if limit is None else limit,
            after=after_position,
            before=before_position,
        ),
    )
    return {
        "users": [wire.user(row) for row in found.users],
        "total": found.total,
        "totalCapped": found.is_capped,
        "match": found.match,
        "previous": found.previous and user_search.encode(found.previous),
        "next": found.next and user_search.encode(found.next),
    }


# admin.export_users
async def export_users(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    search: str | None = None,
    match: Any = None,
    role: str | None = None,
    banned: bool | None = None,
    email_verified: bool | None = None,
    two_factor_enabled: bool | None = None,
    provider: str | None = None,
    created_from: str | None = None,
    created_before: str | None = None,
) -> Stream:
    """Return all users that match a text and filters, as a CSV file."""
    wanted = user_search.UserSearch(
        text=(search or "").strip(),
        match=match,
        role=role,
        banned=banned,
        email_verified=email_verified,
        two_factor_enabled=two_factor_enabled,
        provider=provider,
        created_from=_time("createdFrom", created_from),
        created_before=_time("createdBefore", created_before),
    )
    return users_file(ctx, await user_search.export_users(ctx, wanted))


def users_file(ctx: Context, pages: AsyncGenerator[Sequence[UserRow], None]) -> Stream:
    """Return a CSV file of the users in `pages`, with the fields of `User` as columns."""
    return spreadsheets.stream("users", ctx.now, pages, wire.user, shapes.User.__annotations__)


# admin.get_user
async def get_user(ctx: Context, id_: str) -> shapes.User:
    """Return a user."""
    return wire.user(await users.get_user(ctx, id_))


# admin.list_user_sessions
async def list_user_sessions(ctx: Context, body: shapes.UserIdRequest) -> shapes.SessionsOfUser:
    """Return the active sessions of a user."""
    rows = await user_sessions.list_sessions(ctx, body["userId"])
    return {"sessions": [wire.session(active.visible(ctx.policy, row), token) for row, token in rows]}


# admin.has_permission
async def has_permission(ctx: Context, body: shapes.HasPermissionRequest) -> shapes.PermissionVerdict:
    """Return whether one of the caller's roles grants all of the given permissions."""
    return {"error": None, "success": users.has_permission(ctx, body["permissions"])}


# admin.create_user
async def create_user(ctx: Context, body: shapes.CreateUserRequest) -> shapes.UserAnswer:
    """Create a user."""
    data: dict[str, Any] = {**body.get("data", {})}
    _refuse_owned(data, "id", "password")
    new = user_fields.NewUser(
        email=body["email"],
        name=body["name"],
        password=body.get("password"),
        gives_role="role" in body or "role" in data,
        role=body["role"] if "role" in body else data.get("role"),
        image=data.get("image"),
        username=data.get("username"),
        display_username=data.get("displayUsername"),
        locale=data.get("locale"),
        email_verified=data.get("emailVerified"),
        ban=_columns({key: data[key] for key in _BAN if key in data}),
    )
    return _answer(await user_fields.create_user(ctx, new))


# admin.update_user
async def update_user(ctx: Context, body: shapes.UpdateUserAsAdminRequest) -> shapes.User:
    """Change a user."""
    data: dict[str, Any] = {**body["data"]}
    if "password" in data:
        raise PasswordCannotBeUpdatedViaUpdateUser
    if "id" in data:
        raise UserIdCannotBeUpdated
    _refuse_owned(data)
    return wire.user(await user_fields.update_user(ctx, body["userId"], _columns(data)))


# admin.set_role
async def set_role(ctx: Context, body: shapes.SetRoleRequest) -> shapes.UserAnswer:
    """Replace the roles of a user."""
    return _answer(await users.set_role(ctx, body["userId"], body["role"]))


# admin.set_user_password
async def set_user_password(ctx: Context, body: shapes.SetUserPasswordRequest) -> shapes.Status:
    """Set the password of a user."""
    await users.set_password(ctx, body["userId"], body["newPassword"])
    return {"status": True}


# admin.reset_two_factor
async def reset_two_factor(ctx: Context, body: shapes.UserIdRequest) -> shapes.UserAnswer:
    """Disable the second factor of a user."""
    return _answer(await users.reset_two_factor(ctx, body["userId"]))


# admin.ban_user
async def ban_user(ctx: Context, body: shapes.BanUserRequest) -> shapes.UserAnswer:
    """Ban a user."""
    seconds = body.get("banExpiresIn")
    lasts = None if seconds is None else timedelta(seconds=seconds)
    return _answer(await users.ban_user(ctx, body["userId"], body.get("banReason"), lasts))


# admin.unban_user
async def unban_user(ctx: Context, body: shapes.UserIdRequest) -> shapes.UserAnswer:
    """Lift the ban of a user."""
    return _answer(await users.unban_user(ctx, body["userId"]))


# admin.revoke_user_session
async def revoke_user_session(
    ctx: Context, body: shapes.RevokeUserSessionRequest
) -> shapes.Success | Reply[shapes.Success]:
    """End a session of any user."""
    answer: shapes.Success = {"success": True}
    was_current = await user_sessions.revoke_session(ctx, body["sessionToken"])
    return sign_out_response(ctx, answer) if was_current else answer


# admin.revoke_user_sessions
async def revoke_user_sessions(
    ctx: Context, body: shapes.UserIdRequest
) -> shapes.RevokedUserSessions | Reply[shapes.RevokedUserSessions]:
    """End all sessions of a user."""
    number = await user_sessions.revoke_sessions(ctx, body["userId"])
    answer: shapes.RevokedUserSessions = {"success": True, "count": number}
    is_own = body["userId"] == ctx.signed_in.user.id
    return sign_out_response(ctx, answer) if is_own else answer


# admin.remove_user
async def remove_user(ctx: Context, body: shapes.UserIdRequest) -> shapes.Success:
    """Delete a user."""
    await users.remove_user(ctx, body["userId"])
    return {"success": True}


# admin.list_user_accounts
async def list_user_accounts(ctx: Context, id_: str) -> shapes.AccountsOfUser:
    """Return the accounts with which a user can sign in."""
    return {"accounts": [account_shape(row) for row in await user_access.list_accounts(ctx, id_)]}


# admin.unlink_user_account
async def unlink_user_account(ctx: Context, body: shapes.UnlinkUserAccountRequest) -> shapes.Success:
    """Remove an account with which a user can sign in."""
    await user_access.unlink_account(ctx, body["userId"], body["accountId"])
    return {"success": True}


# admin.list_user_passkeys
async def list_user_passkeys(ctx: Context, id_: str) -> shapes.PasskeysOfUser:
    """Return the passkeys of a user."""
    return {"passkeys": [passkey_shape(row) for row in await user_access.list_passkeys(ctx, id_)]}


# admin.remove_user_passkey
async def remove_user_passkey(ctx: Context, body: shapes.RemoveUserPasskeyRequest) -> shapes.Success:
    """Remove a passkey of a user."""
    await user_access.remove_passkey(ctx, body["userId"], body["passkeyId"])
    return {"success": True}


# admin.send_password_reset
async def send_password_reset(ctx: Context, body: shapes.SendPasswordResetRequest) -> shapes.Success:
    """Send a user a link that sets a password."""
    await user_access.send_password_reset(ctx, body["userId"], body.get("redirectTo"))
    return {"success": True}


# admin.export_user
async def export_user(ctx: Context, id_: str) -> Download:
    """Return all stored data about a user."""
    return Download(wire.exported(await user_access.export_user(ctx, id_)), "user.json")


# admin.impersonate_user
async def impersonate_user(ctx: Context, body: shapes.UserIdRequest) -> Reply[shapes.Impersonation]:
    """Open a session in the name of a user."""
    opened = await impersonation.start(ctx, body["userId"])
    return impersonated_response(ctx, opened, _opened(opened))


# admin.stop_impersonating
async def stop_impersonating(ctx: Context, body: shapes.EmptyRequest) -> Reply[shapes.StoppedImpersonation]:
    """End the session in which the caller acts in the name of a user, and restore their own session if possible."""
    presented = ctx.cookies.values(cookies.admin_name(ctx.policy.cookies).encode())
    opened = await impersonation.stop(ctx, presented)
    if opened is None:
        return stopped_response(ctx, {"session": None, "user": None})
    restored: shapes.StoppedImpersonation = {**_opened(opened)}
    return restored_response(ctx, opened, restored)


def _opened(opened: OpenedSession) -> shapes.Impersonation:
    return {"session": wire.session(opened.session, opened.token), "user": wire.user(opened.user)}


def _answer(row: Any) -> shapes.UserAnswer:
    return {"user": wire.user(row)}


def _refuse_owned(data: Mapping[str, Any], *further: str) -> None:
    for key in (*further, *_OWNED):
        if key in data:  # defence: ADM1 owned-fields
            raise FieldNotAllowed(f"{key} is not allowed to be set")


def _columns(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns to change, by name; an empty image becomes None."""
    changes = {column: data[key] for key, column in _COLUMNS.items() if key in data}
    if changes.get("image") == "":
        changes["image"] = None
    if changes.get("ban_expires") is not None:
        changes["ban_expires"] = _instant(changes["ban_expires"])
    return changes


def _time(name: str, text: str | None) -> datetime | None:
    moment = None if text is None else identifiers.instant_or_none(text)
    if text is not None and moment is None:
        problem = "must be a time with a zone"
        raise ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
    return moment


def _instant(text: str) -> datetime:
    moment = identifiers.instant_or_none(text)
    if moment is None:
        problem = "must be a time with a zone"
        raise ValidationError(f"[body.data.banExpires] {problem}", Field("body", "data.banExpires", problem))
    return moment
