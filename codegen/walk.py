"""Walk a bundled document: find its operations and schemas."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

_SCHEMA_MAPS = ("properties", "patternProperties", "$defs")
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "not", "propertyNames", "contains")
_LITERALS = ("example", "examples", "value", "default")
"""Keys outside schemas whose values are literal JSON, or examples of it; they contain no schemas."""

Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a document: its path template, method (lower case), and the object itself."""

    path: str
    method: str
    spec: dict[str, Any]


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    """Yield every operation of the document, in the order of the document."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield Operation(path, method, item[method])


def resolve(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Return the target of a bundled `$ref`, followed to its end; any other value unchanged."""
    while "$ref" in node:
        target = document
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def page_tags(document: dict[str, Any]) -> frozenset[str]:
    """Return the tags of hosted pages: those whose operations all respond with HTML."""
    is_page: dict[str, bool] = {}
    for operation in operations(document):
        responses = [resolve(document, response) for response in operation.spec["responses"].values()]
        has_html = any("text/html" in response.get("content", {}) for response in responses)
        for tag in operation.spec.get("tags", ()):
            is_page[tag] = is_page.get(tag, True) and has_html
    return frozenset(tag for tag, has_only_pages in is_page.items() if has_only_pages)


def change_schemas(document: dict[str, Any], change: Change) -> dict[str, Any]:
    """Return a copy of the document in which `change` has replaced every schema, innermost first."""
    changed: dict[str, Any] = _outside(document, change)
    if "schemas" in document.get("components", {}):
        schemas = document["components"]["schemas"]
        changed["components"]["schemas"] = {name: inside(schema, change) for name, schema in schemas.items()}
    return changed


def inside(schema: Any, change: Change) -> Any:
    """Return a copy of one schema, changed from the inside out; `true` and `false` stay unchanged."""
    if not isinstance(schema, dict):
        return schema
    copy = dict(schema)
    for key, value in schema.items():
        if key in _SCHEMA_MAPS:
            copy[key] = {name: inside(item, change) for name, item in value.items()}
        elif key in _SCHEMA_LISTS:
            copy[key] = [inside(item, change) for item in value]
        elif key in _SCHEMAS:
            copy[key] = inside(value, change)
    return change(copy)


def _outside(node: Any, change: Change) -> Any:
    if isinstance(node, list):
        return [_outside(item, change) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: inside(value, change)
        if key == "schema"
        else value
        if key in _LITERALS
        else _outside(value, change)
        for key, value in node.items()
    }
