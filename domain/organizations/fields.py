"""The fields of an organization in a request."""

from collections.abc import Mapping
from typing import Any

import orjson

from domain.errors import Field, ValidationError

_MOST_BYTES = 4096
_MOST_NESTED = 8


def columns(sent: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return the columns to store for the fields of an organization that are present in `sent`.

    The API contract has checked types, lengths and patterns. Raises ValidationError for a blank name or unsuitable
    metadata; `path` precedes the name of the field in the error.
    """
    values: dict[str, Any] = {}
    if "name" in sent:
        values["name"] = name_of(sent["name"], f"{path}name")
    if "slug" in sent:
        values["slug"] = sent["slug"].lower()  # defence: ORG20 slug-case
    if "logo" in sent:
        values["logo"] = sent["logo"]
    if "metadata" in sent:
        values["custom_data"] = _metadata(sent["metadata"], f"{path}metadata")
    return values


def name_of(name: str, field: str = "name") -> str:
    """Return the name of an organization or team unchanged. Raises ValidationError for `field` if it is blank."""
    if not name.strip():
        raise _invalid(field, "must not be blank")
    return name


def _metadata(value: Mapping[str, Any] | None, field: str) -> str | None:
    if value is None:
        return None
    if _depth(value) > _MOST_NESTED:  # defence: ORG21 depth
        raise _invalid(field, f"must be nested at most {_MOST_NESTED} deep")
    text = orjson.dumps(value)
    if len(text) > _MOST_BYTES:  # defence: ORG21 size
        raise _invalid(field, f"must be at most {_MOST_BYTES} bytes of JSON")
    return text.decode()


def _depth(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _invalid(field: str, problem: str) -> ValidationError:
    return ValidationError(f"[body.{field}] {problem}", Field("body", field, problem))
