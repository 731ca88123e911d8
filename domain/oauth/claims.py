"""Claims about a user and their sign-in, for the UserInfo endpoint, introspection and tokens."""

from collections.abc import Collection
from typing import Any, Literal

from models.base import to_milliseconds
from models.user import UserRow


def of_user(user: UserRow, scopes: Collection[str]) -> dict[str, Any]:
    """Return the claims about a user that the scopes `profile` and `email` give access to, without empty ones."""
    claims: dict[str, Any] = {}
    if "profile" in scopes:
        claims |= {
            "name": user.name,
            "picture": user.image,
            "preferred_username": user.username,
            "updated_at": to_milliseconds(user.updated_at) // 1000,
        }
    if "email" in scopes:
        claims |= {"email": user.email, "email_verified": user.email_verified}
    return {name: value for name, value in claims.items() if value is not None}


def acr_of(amr: Collection[str]) -> Literal["1", "2"]:
    """Return the authentication context class of a sign-in: `"2"` with a second factor, else `"1"`."""
    return "2" if "mfa" in amr else "1"
