"""Read names, pictures and roles from the free-form JSON metadata that other services keep for a user.

Values that are not texts are ignored; roles may also be lists of texts.
"""

from collections.abc import Mapping, Sequence

import orjson

Metadata = Mapping[str, object]


def parse(value: object) -> Metadata:
    """Return metadata that is an object or the JSON text of an object; an empty object for anything else."""
    parsed = _loaded(value)
    return parsed if isinstance(parsed, dict) else {}


def parse_list(value: object) -> Sequence[object]:
    """Return a list, or the list in a JSON text; an empty list for anything else."""
    parsed = _loaded(value)
    return parsed if isinstance(parsed, list) else []


def _loaded(value: object) -> object:
    try:
        return orjson.loads(value) if isinstance(value, str | bytes) else value
    except ValueError:
        return None


def text(*values: object) -> str | None:
    """Return the first value that is a text and not blank, without surrounding spaces; None if there is none."""
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), None)


def role(metadata: Metadata) -> str | None:
    """Return the roles in the members `role` and `roles`, separated by commas; each may be a text or a list.

    `metadata` must be metadata that only the application can write, never metadata that users may change.
    """
    named = [*_texts(metadata.get("role")), *_texts(metadata.get("roles"))]
    return ",".join(dict.fromkeys(named)) or None


def _texts(value: object) -> list[str]:
    listed = parse_list(value) or [value]
    return [one for each in listed if (one := text(each)) is not None]
