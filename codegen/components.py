"""The components of a bundled document, which of them are used, and the part of a document that is about one path."""

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


def head_of(document: Document) -> Document:
    """Return what a document says of the whole service, without references to components."""
    return {key: document[key] for key in ("openapi", "info", "servers", "security") if key in document}


def of_path(document: Document, path: str) -> Document:
    """Return the document of one path, with all security schemes and the components that the path uses.

    All objects are shared with the document, so neither may be modified.
    """
    item, components = document["paths"][path], document["components"]
    kept: dict[str, Document] = {"securitySchemes": components.get("securitySchemes", {})}
    waiting = [item]
    while waiting:
        for section, name in _REFERENCE.findall(orjson.dumps(waiting.pop()).decode()):
            if name not in kept.setdefault(section, {}):
                kept[section][name] = components[section][name]
                waiting.append(components[section][name])
    return {**head_of(document), "paths": {path: item}, "components": kept}
