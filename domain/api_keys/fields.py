"""Check the fields of a key in a request, and convert them to columns."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson

from domain.api_keys.errors import (
    ExpiresInIsTooLarge,
    ExpiresInIsTooSmall,
    InvalidMetadataType,
    InvalidNameLength,
    InvalidPrefixLength,
    KeyDisabledExpiration,
    MetadataDisabled,
    RefillAmountAndIntervalRequired,
    RefillIntervalAndAmountRequired,
    ServerOnlyProperty,
)
from domain.api_keys.key_text import RESERVED_PREFIXES
from domain.api_keys.policy import ApiKeyPolicy, KeyKind, Statements
from domain.context import Context
from domain.errors import Field, ValidationError

LARGEST = 4096
"""The largest size of permissions, and of metadata, as JSON, in bytes."""

MANAGED = frozenset(
    {
        "remaining",
        "refillAmount",
        "refillInterval",
        "rateLimitEnabled",
        "rateLimitTimeWindow",
        "rateLimitMax",
    }
)
"""The fields that only callers with the permission `apiKey: manage` may set."""

SHARED = MANAGED | {"name", "expiresIn", "metadata", "permissions"}
"""The fields that a key may be created with and that may be changed, by their names on the wire."""

_COLUMNS = {
    "name": "name",
    "enabled": "enabled",
    "remaining": "remaining",
    "refillAmount": "refill_amount",
    "refillInterval": "refill_interval_ms",
    "rateLimitEnabled": "rate_limit_enabled",
    "rateLimitTimeWindow": "rate_limit_window_ms",
    "rateLimitMax": "rate_limit_max",
}
_ACTION = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,63}", re.ASCII)

Fields = Mapping[str, Any]
"""The fields of a request that are present, by their names on the wire."""


def check_manager_only(fields: Fields, kind: KeyKind, *, is_manager: bool) -> None:
    """Check that a caller who is not a manager of all keys sets none of `MANAGED`, and only grantable permissions.

    Raises ServerOnlyProperty.
    """
    if is_manager:
        return
    # As in Better Auth, any caller may send `remaining: null`.
    present = {name for name in MANAGED & fields.keys() if (name, fields[name]) != ("remaining", None)}
    # defence: KEY4 manager-only
    if present or ("permissions" in fields and not _is_granted(fields["permissions"], kind.grantable)):
        raise ServerOnlyProperty


def _is_granted(requested: Statements | None, grantable: Statements) -> bool:
    """Return whether owners may grant these permissions; if no permission is grantable, owners cannot change any."""
    granted = all(set(actions) <= set(grantable.get(name, ())) for name, actions in (requested or {}).items())
    return bool(grantable) and granted


def columns(ctx: Context, fields: Fields, kind: KeyKind) -> dict[str, Any]:
    """Check the fields that are present, and return the columns to store.

    Raises MetadataDisabled, InvalidMetadataType, RefillAmountAndIntervalRequired, RefillIntervalAndAmountRequired,
    KeyDisabledExpiration, ExpiresInIsTooSmall, ExpiresInIsTooLarge, InvalidPrefixLength, InvalidNameLength,
    ValidationError.
    """
    policy = ctx.policy[ApiKeyPolicy]
    values = {column: fields[name] for name, column in _COLUMNS.items() if name in fields}
    if "metadata" in fields:
        if fields["metadata"] is not None and not policy.metadata:
            raise MetadataDisabled
        if not isinstance(fields["metadata"], dict | None):
            raise InvalidMetadataType
        values["custom_data"] = _stored("metadata", fields["metadata"])
    _check_refill(fields)
    if "expiresIn" in fields:
        lasts = _lifetime(policy, kind, fields["expiresIn"])
        values["expires_at"] = None if lasts is None else ctx.now + lasts
    if "prefix" in fields:
        _check_prefix(policy, fields["prefix"])
    if "name" in fields:
        _check_name(policy, fields["name"])
    if "permissions" in fields:
        _check_permissions(fields["permissions"])
        values["permissions"] = _stored("permissions", fields["permissions"])
    return values


def permissions_text(permissions: Statements | None) -> str | None:
    """Return the stored form of permissions; None if there are none."""
    return orjson.dumps(permissions).decode() if permissions else None


def default_expiry(policy: ApiKeyPolicy, kind: KeyKind) -> timedelta | None:
    """Return the lifetime of a key that is created without one; None means that it never expires."""
    if kind.expires_in or policy.allow_never:
        return kind.expires_in or None
    return kind.maximum_expires_in


def _lifetime(policy: ApiKeyPolicy, kind: KeyKind, seconds: int | None) -> timedelta | None:
    if not kind.custom_expiry:
        raise KeyDisabledExpiration
    if seconds is None:
        if not policy.allow_never:  # defence: KEY19 never
            raise ExpiresInIsTooLarge
        return None
    # defence: KEY19 shortest
    if seconds < kind.minimum_expires_in.total_seconds():
        raise ExpiresInIsTooSmall
    # defence: KEY19 longest
    if seconds > kind.maximum_expires_in.total_seconds():
        raise ExpiresInIsTooLarge
    return timedelta(seconds=seconds)


def _check_refill(fields: Fields) -> None:
    amount, interval = fields.get("refillAmount"), fields.get("refillInterval")
    if amount is None and interval is not None:
        raise RefillAmountAndIntervalRequired
    if amount is not None and interval is None:
        raise RefillIntervalAndAmountRequired


def _check_prefix(policy: ApiKeyPolicy, prefix: str) -> None:
    if not policy.minimum_prefix_length <= len(prefix) <= policy.maximum_prefix_length:
        raise InvalidPrefixLength
    # A key that begins like a session token or verifier token could be taken for one.
    if prefix.startswith(RESERVED_PREFIXES):  # defence: KEY16 reserved-prefix
        raise _invalid("prefix", "must not begin like another credential: " + ", ".join(RESERVED_PREFIXES))


def _check_name(policy: ApiKeyPolicy, name: str) -> None:
    # A name of spaces alone would be invisible in lists.
    if len(name.strip()) < policy.minimum_name_length or len(name) > policy.maximum_name_length:
        raise InvalidNameLength


def _check_permissions(permissions: Statements | None) -> None:
    if not all(_ACTION.fullmatch(name) for name in permissions or {}):
        raise _invalid(
            "permissions", "names of resources have 1 to 64 letters, digits and _:.-, the first a letter"
        )


def _stored(field: str, value: Any) -> str | None:
    """Return the stored form of a JSON value. Raises ValidationError for a large or dangerous value."""
    if value is None:
        return None
    text = orjson.dumps(value)
    if len(text) > LARGEST:  # defence: KEY18 size
        raise _invalid(field, f"must have at most {LARGEST} bytes as JSON")
    if b'"__proto__":' in text:  # defence: KEY18 prototype
        raise _invalid(field, "must not have a member __proto__, which changes objects of some languages")
    return text.decode()


def _invalid(field: str, problem: str) -> ValidationError:
    return ValidationError(f"[body.{field}] {problem}", Field("body", field, problem))
