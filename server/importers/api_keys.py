"""Parsing and validation of the API keys of an imported user."""

import base64
from collections.abc import Collection
from datetime import datetime

import orjson

from domain.api_keys.fields import LARGEST
from domain.api_keys.policy import DEFAULT
from domain.data_import.eligibility import Field, ImportedKey, Problem
from server.importers import values
from server.importers.values import Fields

KEY_NAMES = frozenset(
    {
        "digest", "configId", "name", "prefix", "start", "enabled", "expiresAt", "lastRequest", "remaining",
        "refillAmount", "refillInterval", "lastRefillAt", "rateLimitEnabled", "rateLimitTimeWindow", "rateLimitMax",
        "permissions", "createdAt",
    }
)  # fmt: skip
KEYS_AT_MOST = 10_000
# The largest integer that JavaScript clients can read exactly.
LARGEST_NUMBER = 2**53 - 1
WINDOW_MS, REQUESTS = 60_000, 600
"""The rate limit of an imported API key that has none of its own: requests in a window of so many milliseconds."""
LONGEST_TEXT = 255


def read(fields: Fields, kinds: Collection[str], now: datetime) -> tuple[ImportedKey, ...]:
    """Return the API keys in a user's fields; `kinds` are the configured kinds. Raises Problem for an invalid key."""
    tables = values.tables(fields, "apiKeys", KEYS_AT_MOST, KEY_NAMES, Field.API_KEYS)
    return tuple(_api_key(table, kinds, now) for table in tables)


def _api_key(table: Fields, kinds: Collection[str], now: datetime) -> ImportedKey:
    kind = values.text(table, "configId", LONGEST_TEXT, Field.API_KEYS) or DEFAULT
    if kind not in kinds:
        raise Problem("apiKeys", f"{kind[:32]} is not a configured kind of keys", Field.API_KEYS)
    enabled = table.get("enabled")
    limited = values.flag(table, "rateLimitEnabled")
    return ImportedKey(
        digest=_digest(values.text(table, "digest", LONGEST_TEXT, Field.API_KEYS)),
        kind=kind,
        name=values.line(table, "name"),
        prefix=values.line(table, "prefix"),
        start=values.line(table, "start"),
        enabled=enabled is None or values.flag(table, "enabled"),
        expires_at=values.instant(table, "expiresAt"),
        last_request=values.past(table, "lastRequest", now),
        remaining=_number(table, "remaining", 0),
        refill_amount=_number(table, "refillAmount", 1),
        refill_interval_ms=_number(table, "refillInterval", 1),
        last_refill_at=values.past(table, "lastRefillAt", now),
        rate_limit_enabled=limited,
        rate_limit_window_ms=_number(table, "rateLimitTimeWindow", 1) or WINDOW_MS,
        rate_limit_max=_number(table, "rateLimitMax", 1) or REQUESTS,
        permissions=_permissions(values.present(table, "permissions")),
        created_at=values.past(table, "createdAt", now),
    )


def _digest(text: str | None) -> bytes:
    """Return a SHA-256 digest, written in base64url without padding."""
    try:
        # The digest of 32 bytes has one `=` of padding, which Better Auth does not store.
        digest = base64.urlsafe_b64decode(f"{text or ''}=")
    except ValueError:
        digest = b""
    if len(digest) != 32:
        raise Problem("apiKeys", "needs the SHA-256 of a key in base64url", Field.API_KEYS)
    return digest


def _number(table: Fields, name: str, least: int) -> int | None:
    value = values.present(table, name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_NUMBER:
        raise Problem("apiKeys", f"{name} must be a whole number of {least} or more", Field.API_KEYS)
    return value


def _permissions(value: object) -> str | None:
    if value is None:
        return None
    is_sound = isinstance(value, dict) and all(
        isinstance(actions, list) and all(isinstance(action, str) for action in actions)
        for actions in value.values()
    )
    text = orjson.dumps(value) if is_sound else b""
    if not is_sound or len(text) > LARGEST:
        problem = f"permissions must be lists of actions by resource, of at most {LARGEST} bytes"
        raise Problem("apiKeys", problem, Field.API_KEYS)
    return text.decode()
