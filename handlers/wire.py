"""Convert values and rows to the JSON of API responses, for several handlers.

What only one handler needs is converted in the module of that handler.
"""

import contextlib
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

import orjson

from domain.context import Caller, Client
from domain.errors import Field, ValidationError
from domain.keyset import Position
from handlers import shapes
from models.api_key import ApiKeyRow
from models.base import from_milliseconds, to_milliseconds
from models.session import SessionRow
from models.user import UserRow

_MOST_DIGITS = 14
"""Digits of the milliseconds until the year 5138."""

_GAP = "*"
"""A placeholder for a token; no token is equal to it."""

Flag = bool | str
"""A boolean as sent: a JSON boolean or the text `true` or `false` in any case."""


def flag(value: Flag | None, *, default: bool = False) -> bool:
    """Return the value of a boolean field; `default` if it is absent."""
    if value is None:
        return default
    return value if isinstance(value, bool) else value.lower() == "true"


@lru_cache(maxsize=4096)
def instant(moment: datetime) -> str:
    """Return a time as text such as `2026-01-01T12:00:00.123Z`, in UTC and always with three digits of fraction.

    Better Auth's client misreads other forms. Recent results are cached, because every response with a session contains
    times.
    """
    # `2026-01-01T12:00:00.123000Z`, or without a fraction. orjson is five times as fast as Python's formatting.
    written = str(orjson.dumps(moment, option=orjson.OPT_UTC_Z), "ascii")
    return f"{written[1:24]}Z" if written[20] == "." else f"{written[1:20]}.000Z"


def optional_instant(moment: datetime | None) -> str | None:
    """Return a time as text in the form of `instant`; None for None."""
    return None if moment is None else instant(moment)


def cursor(position: Position) -> str:
    """Return the position of a row in a list that is sorted by time, as text for a URL."""
    return f"{to_milliseconds(position.time)}.{position.id}"


def position(text: str) -> Position:
    """Return the position that `cursor` has made this text of. Raises ValidationError if it is malformed."""
    milliseconds, _, row_id = text.partition(".")
    if milliseconds.isascii() and milliseconds.isdecimal() and len(milliseconds) <= _MOST_DIGITS and row_id:
        with contextlib.suppress(OverflowError):
            return Position(from_milliseconds(int(milliseconds)), row_id)
    problem = "must be a cursor of this list"
    raise ValidationError(f"[query.cursor] {problem}", Field("query", "cursor", problem))


def exported(held: Mapping[str, Any], options: int = 0) -> bytes:
    """Return the exported data of a user as JSON with a newline at its end; `options` are flags of orjson."""
    # orjson would write times in a form other than that of all responses.
    always = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(held, default=_exported_value, option=always | options)


def _exported_value(value: object) -> str:
    if isinstance(value, datetime):
        return instant(value)
    raise TypeError


def current(caller: Caller, session_row: SessionRow) -> shapes.CurrentSession:
    """Return a session with its token and its user, already rendered as the JSON of the response."""
    before, after = _around_token(session_row, caller.user)
    return cast(shapes.CurrentSession, orjson.Fragment(f'{before}"token":"{caller.token}"{after}'))


def current_by_key(
    caller: Caller, key: ApiKeyRow, client: Client, expires_at: datetime
) -> shapes.CurrentSession:
    """Return the caller's API key in the form of a session that ends at `expires_at`, and the user."""
    shown: shapes.Session = {
        "id": key.id,
        "token": caller.token,
        "userId": caller.user.id,
        "expiresAt": instant(expires_at),
        "createdAt": instant(key.created_at),
        "updatedAt": instant(key.updated_at),
        "ipAddress": client.address,
        "userAgent": client.user_agent,
    }
    return {"session": shown, "user": user(caller.user)}


@lru_cache(maxsize=512)
def _around_token(session_row: SessionRow, user_row: UserRow) -> tuple[str, str]:
    """Return the JSON before and after the token. The cache contains no tokens; all other fields seldom change."""
    shape = {"session": session(session_row, _GAP), "user": user(user_row)}
    # Stored text cannot contain this, because JSON escapes each quote in a string with a backslash.
    before, _, after = orjson.dumps(shape).decode().partition(f'"token":"{_GAP}"')
    return before, after


def session(row: SessionRow, token: str) -> shapes.Session:
    """Return a session in the form of API responses, with its token.

    `impersonatedBy`, `activeOrganizationId` and `activeTeamId` are absent while they are not set.
    """
    shape: shapes.Session = {
        "id": row.id,
        "token": token,
        "userId": row.user_id,
        "expiresAt": instant(row.expires_at),
        "createdAt": instant(row.created_at),
        "updatedAt": instant(row.updated_at),
        "ipAddress": row.ip_address,
        "userAgent": row.user_agent,
    }
    if row.impersonated_by is not None:
        shape["impersonatedBy"] = row.impersonated_by
    if row.active_organization_id is not None:
        shape["activeOrganizationId"] = row.active_organization_id
    if row.active_team_id is not None:
        shape["activeTeamId"] = row.active_team_id
    return shape


def user(row: UserRow) -> shapes.User:
    """Return a user with all fields of API responses; fields without a value are None."""
    return {
        "id": row.id,
        "name": row.name,
        "email": row.email,
        "emailVerified": row.email_verified,
        "image": row.image,
        "createdAt": instant(row.created_at),
        "updatedAt": instant(row.updated_at),
        "username": row.username,
        "displayUsername": row.display_username,
        "twoFactorEnabled": row.two_factor_enabled,
        "role": row.role,
        "banned": row.banned,
        "banReason": row.ban_reason,
        "banExpires": optional_instant(row.ban_expires),
        "locale": row.locale,
    }


def reduced_user(row: UserRow) -> shapes.ReducedUser:
    """Return the seven fields of a user that authentication responses contain."""
    return {
        "id": row.id,
        "email": row.email,
        "name": row.name,
        "image": row.image,
        "emailVerified": row.email_verified,
        "createdAt": instant(row.created_at),
        "updatedAt": instant(row.updated_at),
    }
