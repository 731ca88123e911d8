"""Convert rows to JSON shapes and back; the only module that knows the JSON names."""

import base64
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

import orjson

from domain.context import Caller, Client
from domain.errors import Refusal
from domain.identity_provider import IdTokenCredential
from domain.passkeys import client_data
from domain.social.tokens import DecryptedTokens, Profile
from handlers import shapes
from models.account import AccountRow
from models.api_key import ApiKeyRow
from models.passkey import PasskeyRow
from models.session import SessionRow
from models.user import UserRow

_SEPARATORS = re.compile(r"[ ,]+")

_GAP = "*"
"""A placeholder for a token; no token is equal to it."""

Flag = bool | str
"""A boolean as sent: a JSON boolean or the text `true` or `false` in any case."""


def flag(value: Flag | None, *, default: bool = False) -> bool:
    """Return a boolean field; absent means the default."""
    if value is None:
        return default
    return value if isinstance(value, bool) else value.lower() == "true"


def scopes(value: shapes.Scopes | None) -> tuple[str, ...]:
    """Return scopes from an array, or from a string separated by spaces and commas; absent means none."""
    written = [value] if isinstance(value, str) else value or []
    return tuple(scope for text in written for scope in _SEPARATORS.split(text) if scope)


def direct_proof(value: shapes.IdToken) -> IdTokenCredential:
    """Return an ID token with the values sent with it; only the name in the user's data is used."""
    if isinstance(value, str):
        return IdTokenCredential(value)
    name = value.get("user", {}).get("name", {})
    parts = (name.get("firstName"), name.get("lastName"))
    return IdTokenCredential(
        id_token=value["token"],
        nonce=value.get("nonce"),
        access_token=value.get("accessToken") or None,
        refresh_token=value.get("refreshToken") or None,
        name=" ".join(part for part in parts if part) or None,
    )


@lru_cache(maxsize=4096)
def instant(moment: datetime) -> str:
    """Return a UTC time with exactly three digits of fraction and a Z; Better Auth's client misreads other forms.

    Recent results are cached, because every response with a session contains its times.
    """
    # `2026-01-01T12:00:00.123000Z`, or without a fraction. orjson is five times as fast as Python's formatting.
    written = str(orjson.dumps(moment, option=orjson.OPT_UTC_Z), "ascii")
    return f"{written[1:24]}Z" if written[20] == "." else f"{written[1:20]}.000Z"


def _optional_instant(moment: datetime | None) -> str | None:
    return None if moment is None else instant(moment)


def exported(held: Mapping[str, Any], options: int = 0) -> bytes:
    """Return the export of a user as JSON with a newline at its end; `options` are those of orjson."""
    always = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(held, default=_exported_value, option=always | options)


def _exported_value(value: object) -> str:
    if isinstance(value, datetime):
        return instant(value)
    raise TypeError


def current(caller: Caller) -> shapes.CurrentSession:
    """Return the session of a request, with its token, and its user, as the JSON of the response."""
    before, after = _around_token(caller.session, caller.user)
    return cast(shapes.CurrentSession, orjson.Fragment(f'{before}"token":"{caller.token}"{after}'))


def current_by_key(
    caller: Caller, key: ApiKeyRow, client: Client, expires_at: datetime
) -> shapes.CurrentSession:
    """Return an API key in the form of a session; another service may have created the key's text."""
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
    """Return a session with the given token; two keys are omitted while they are not set."""
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
    return shape


def user(row: UserRow) -> shapes.User:
    """Return a whole user; every key is always present."""
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
        "banExpires": _optional_instant(row.ban_expires),
        "locale": row.locale,
    }


def reduced_user(row: UserRow) -> shapes.ReducedUser:
    """Return the seven keys of a user in authentication responses."""
    return {
        "id": row.id,
        "email": row.email,
        "name": row.name,
        "image": row.image,
        "emailVerified": row.email_verified,
        "createdAt": instant(row.created_at),
        "updatedAt": instant(row.updated_at),
    }


def two_factor_user(row: UserRow) -> shapes.TwoFactorUser:
    """Return the reduced user, and whether a second factor is on."""
    return {**reduced_user(row), "twoFactorEnabled": row.two_factor_enabled}


def reduced_session(row: SessionRow, token: str) -> shapes.ReducedSession:
    """Return the four keys of a session in the response to a backup code."""
    return {
        "token": token,
        "userId": row.user_id,
        "createdAt": instant(row.created_at),
        "expiresAt": instant(row.expires_at),
    }


def account(row: AccountRow) -> shapes.LinkedAccount:
    """Return a linked account, without its tokens."""
    # defence: V31 account-fields
    return {
        "id": row.id,
        "provider": row.provider_id,
        "providerId": row.provider_id,
        "issuer": row.issuer,
        "accountId": row.account_id,
        "userId": row.user_id,
        "scopes": row.scopes,
        "createdAt": instant(row.created_at),
        "updatedAt": instant(row.updated_at),
    }


def provider_tokens(opened: DecryptedTokens) -> shapes.ProviderTokens:
    """Return a provider's tokens."""
    row = opened.account
    return {
        "tokenType": row.token_type or "Bearer",
        "accessToken": opened.access_token,
        "refreshToken": opened.refresh_token,
        "idToken": opened.id_token,
        "accessTokenExpiresAt": _optional_instant(row.access_token_expires_at),
        "refreshTokenExpiresAt": _optional_instant(row.refresh_token_expires_at),
        "scope": row.scope,
        "scopes": row.scopes,
        "providerId": row.provider_id,
        "accountId": row.id,
    }


def account_profile(profile: Profile) -> shapes.AccountProfile:
    """Return a user's profile at a provider, in the service's format and raw."""
    row, identity = profile.account, profile.identity
    return {
        "user": {
            "id": identity.subject,
            "name": identity.name or None,
            "email": identity.email,
            "image": identity.image,
            "emailVerified": identity.email_verified,
        },
        "data": dict(identity.profile),
        "account": {
            "id": row.id,
            "providerId": row.provider_id,
            "issuer": row.issuer,
            "accountId": row.account_id,
        },
    }


@lru_cache(maxsize=512)
def api_key(row: ApiKeyRow) -> shapes.ApiKey:
    """Return an API key, without its text; every key is always present."""
    return {
        "id": row.id,
        "configId": row.kind,
        "name": row.name,
        "start": row.start,
        "prefix": row.prefix,
        "referenceId": row.user_id,
        "enabled": row.enabled,
        "expiresAt": _optional_instant(row.expires_at),
        "remaining": row.remaining,
        "refillAmount": row.refill_amount,
        "refillInterval": row.refill_interval_ms,
        "lastRefillAt": _optional_instant(row.last_refill_at),
        "rateLimitEnabled": row.rate_limit_enabled,
        "rateLimitTimeWindow": row.rate_limit_window_ms,
        "rateLimitMax": row.rate_limit_max,
        "requestCount": row.request_count,
        "lastRequest": _optional_instant(row.last_request),
        "permissions": None if row.permissions is None else orjson.loads(row.permissions),
        "metadata": None if row.custom_data is None else orjson.loads(row.custom_data),
        "createdBy": row.created_by,
        "createdAt": instant(row.created_at),
        "updatedAt": instant(row.updated_at),
    }


def key_refusal(refusal: Refusal) -> shapes.ApiKeyRefusal:
    """Return the reason why a key is refused, and when it can be used again if known."""
    shape: dict[str, Any] = {"message": refusal.message, "code": refusal.code}
    if refusal.details:
        shape["details"] = dict(refusal.details)
    return cast(shapes.ApiKeyRefusal, shape)


def passkey(row: PasskeyRow) -> shapes.Passkey:
    """Return a passkey."""
    return {
        "id": row.id,
        "name": row.name,
        "userId": row.user_id,
        "credentialID": client_data.encode(row.credential_id),
        "publicKey": base64.b64encode(row.public_key).decode(),
        "counter": row.counter,
        "deviceType": cast(Any, row.device_type),
        "backedUp": row.backed_up,
        "transports": row.transports,
        "aaguid": row.aaguid,
        "createdAt": instant(row.created_at),
        "lastUsedAt": _optional_instant(row.last_used_at),
    }
