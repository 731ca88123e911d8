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
    """Return the texts of `role` and `roles`, each of which may be a text or a list, with commas.

    `metadata` must be the one that only the application writes, never the one that users may change.
    """
    named = [*_texts(metadata.get("role")), *_texts(metadata.get("roles"))]
    return ",".join(dict.fromkeys(named)) or None


def _texts(value: object) -> list[str]:
    listed = parse_list(value) or [value]
    return [one for each in listed if (one := text(each)) is not None]
