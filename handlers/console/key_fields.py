"""Convert between the form of an API key and the JSON fields of the key."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from domain.api_keys.fields import Fields
from domain.errors import Field, ValidationError
from domain.localization import N_
from handlers.account_pages.api_keys import NEVER, permissions
from models.api_key import ApiKeyRow

FIELD_LABELS: Mapping[str, str] = {
    "rateLimitMax": N_("Requests"),
    "rateLimitTimeWindow": N_("Window in seconds"),
    "refillAmount": N_("Requests"),
    "refillInterval": N_("Interval in seconds"),
    "remaining": N_("Requests left"),
}

_ACTION = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,63}", re.ASCII)


def requested(form: Mapping[str, Any]) -> Fields:
    """Return the fields of a new key that are filled in, by JSON name. Raises ValidationError for bad permissions."""
    values: dict[str, Any] = {
        name: value for name, value in _values(form).items() if value not in (None, "", {})
    }
    if lasts := form.get("expiresIn"):
        values["expiresIn"] = None if lasts == NEVER else int(lasts)
    return _with_rate_limit(values, form)


def changes(row: ApiKeyRow, form: Mapping[str, Any]) -> Fields:
    """Return the fields of a key that the form changes, by JSON name. Raises ValidationError for bad permissions."""
    shown = form_values(row)
    differing = {name for name, value in shown.items() if form.get(name, value).split() != value.split()}
    values = {name: value for name, value in _values(form).items() if name in differing}
    # The operation takes amount and interval only together.
    if {"refillAmount", "refillInterval"} & differing:
        written = _values({**shown, **form})
        amount = written["refillAmount"]
        values |= {"refillAmount": amount, "refillInterval": amount and written["refillInterval"]}
    if "permissions" in values:
        values["permissions"] = values["permissions"] or None
    if lasts := form.get("expiresIn"):
        values["expiresIn"] = None if lasts == NEVER else int(lasts)
    if {"rateLimitMax", "rateLimitTimeWindow"} & differing:
        if not form.get("rateLimitMax"):
            return {**values, "rateLimitEnabled": False} if shown["rateLimitMax"] else values
        return _with_rate_limit(values, form)
    return values


def form_values(row: ApiKeyRow) -> Mapping[str, str]:
    """Return the fields of a key as texts for its form; a field without a value is empty."""
    granted = orjson.loads(row.permissions or "{}")
    return {
        "name": row.name or "",
        "permissions": " ".join(
            f"{resource}:{action}" for resource, actions in granted.items() for action in actions
        ),
        "remaining": _number(row.remaining),
        "refillAmount": _number(row.refill_amount),
        "refillInterval": _seconds(row.refill_interval_ms),
        "rateLimitMax": _number(row.rate_limit_max if row.rate_limit_enabled else None),
        "rateLimitTimeWindow": _seconds(row.rate_limit_window_ms),
    }


def _values(form: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": form.get("name", "").strip(),
        "permissions": _permissions(form.get("permissions", "")),
        "remaining": _integer(form.get("remaining")),
        "refillAmount": (amount := _integer(form.get("refillAmount"))),
        "refillInterval": None if amount is None else _milliseconds(form.get("refillInterval")),
    }


def _permissions(text: str) -> dict[str, list[str]]:
    """Parse permissions such as `user:get user:list`. Raises ValidationError if one is malformed."""
    written = permissions(text)
    if not all(_ACTION.fullmatch(action) for actions in written.values() for action in actions):
        problem = "must be written as resource:action"
        raise ValidationError(f"[body.permissions] {problem}", Field("body", "permissions", problem))
    return written


def _with_rate_limit(values: dict[str, Any], form: Mapping[str, Any]) -> Fields:
    most, window = _integer(form.get("rateLimitMax")), _milliseconds(form.get("rateLimitTimeWindow"))
    if most is None:
        return values
    limit: dict[str, Any] = {"rateLimitEnabled": True, "rateLimitMax": most}
    return {**values, **limit, **({} if window is None else {"rateLimitTimeWindow": window})}


def _integer(text: str | None) -> int | None:
    return int(text) if text else None


def _milliseconds(text: str | None) -> int | None:
    return int(text) * 1000 if text else None


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else str(milliseconds // 1000)
