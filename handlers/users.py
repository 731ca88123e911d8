"""The operations of openapi/paths/users.yaml.

Change and delete a user account, and check whether a username is free.
"""

from typing import Any

from domain.context import Context
from domain.user_deletion import deletion, disowning
from domain.users import profile
from domain.users.errors import EmailCanNotBeUpdated, FieldNotAllowed
from handlers import shapes
from handlers.responses import redirects
from handlers.responses.reply import Redirect, Reply
from handlers.responses.sessions import sign_out_response

_PROFILE = {
    "name": "name",
    "image": "image",
    "username": "username",
    "displayUsername": "display_username",
    "locale": "locale",
}
"""The fields that users may change, and their columns."""

_OWNED = ("emailVerified", "role", "banned", "banReason", "banExpires", "twoFactorEnabled", "password", "id",
          "createdAt", "updatedAt")  # fmt: skip
"""The fields that only the service changes."""


# users.update
async def update(ctx: Context, body: shapes.UpdateUserRequest) -> shapes.Status:
    """Change the caller's profile."""
    await profile.update(ctx, _changes(dict(body)))
    return {"status": True}


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    # Changed by an operation of its own, because the new address has to be proven.
    if "email" in body:  # defence: V30 email-field
        raise EmailCanNotBeUpdated
    for key in _OWNED:
        if key in body:  # defence: V30 owned-fields
            raise FieldNotAllowed(f"{key} is not allowed to be set")
    # A fixed list of columns: a field of the body never becomes one by its name (mass assignment).
    # defence: V30 profile-fields
    changes = {column: body[key] for key, column in _PROFILE.items() if key in body}
    if changes.get("image") == "":
        changes["image"] = None
    return changes


# users.delete
async def delete(
    ctx: Context, body: shapes.DeleteUserRequest
) -> shapes.UserDeleted | Reply[shapes.UserDeleted]:
    """Delete the caller, or email them a deletion link."""
    deleted = await deletion.delete_user(
        ctx, password=body.get("password"), token=body.get("token"), callback_url=body.get("callbackURL")
    )
    if not deleted:
        return {"success": True, "message": "Verification email sent"}
    return _deleted(ctx)


def _deleted(ctx: Context) -> Reply[shapes.UserDeleted]:
    return sign_out_response(ctx, {"success": True, "message": "User deleted"})


# users.confirm_deletion
async def confirm_deletion(
    ctx: Context, token: str | None = None, callback_url: str | None = None
) -> Reply[shapes.UserDeleted] | Redirect:
    """Delete the caller with the token of an emailed link, then redirect to `callback_url` if it is given."""
    await deletion.confirm(ctx, token)
    reply = _deleted(ctx)
    if callback_url is None:
        return reply
    return redirects.to(ctx.policy, callback_url, headers=reply.headers)


# users.disown
async def disown(ctx: Context, body: shapes.DisownAccountRequest) -> shapes.Success:
    """Delete a user whose unverified email address belongs to another person, with the token of an emailed link."""
    await disowning.disown(ctx, body["token"])
    return {"success": True}  # defence: N3 no-session


# users.check_username
async def check_username(ctx: Context, body: shapes.CheckUsernameRequest) -> shapes.UsernameAvailability:
    """Return whether a username is free."""
    return {"available": await profile.is_username_available(ctx, body["username"])}
