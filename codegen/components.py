"""The components of a bundled document, and which of them are used."""

import re
from typing import Any

import orjson

Document = dict[str, Any]
Component = tuple[str, str]
"""The section and the name of a component."""

_REFERENCE = re.compile(r'"\$ref":"#/components/(\w+)/([^"]+)"')
_SECTIONS = ("schemas", "parameters", "headers", "responses")


def unused(document: Document) -> set[Component]:
    """Return every component without a reference to it."""
    used = set(_REFERENCE.findall(orjson.dumps(document).decode()))
    named = {(section, name) for section in _SECTIONS for name in document["components"].get(section, {})}
    return named - used


def without_unused(document: Document, *, keep: set[Component]) -> Document:
    """Return the document without its unused components, and without those that only they refer to, except `keep`."""
    made = {**document, "components": dict(document["components"])}
    components = made["components"]
    while removed := unused(made) - keep:
        for section, name in removed:
            components[section] = {key: value for key, value in components[section].items() if key != name}
    return made
