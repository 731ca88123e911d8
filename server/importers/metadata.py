"""Free-form metadata of users in other services: names, pictures and roles, as far as they are texts."""

from collections.abc import Mapping, Sequence

import orjson

Metadata = Mapping[str, object]


def parse(value: object) -> Metadata:
    """Return metadata that is an object, or JSON of one; anything else is empty."""
    parsed = _loaded(value)
    return parsed if isinstance(parsed, dict) else {}


def parse_list(value: object) -> Sequence[object]:
    """Return a list, or that in a JSON text; anything else is empty."""
    parsed = _loaded(value)
    return parsed if isinstance(parsed, list) else []


def _loaded(value: object) -> object:
    try:
        return orjson.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return None


def text(*values: object) -> str | None:
    """Return the first value that is a text with more than spaces, without the spaces around it."""
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), None)


def role(metadata: Metadata) -> str | None:
    """Return the text `role`, or the texts in the list `roles` with commas.

    `metadata` must be the one that only the application writes, never the one that users may change.
    """
    listed = parse_list(metadata.get("roles"))
    return text(metadata.get("role")) or ",".join(each for each in listed if isinstance(each, str)) or None
