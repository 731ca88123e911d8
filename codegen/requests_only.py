"""The contract without webhooks, and without components that only responses use: half the size, for programs that
only need requests."""

import re
from typing import Any

import orjson

from codegen.walk import operations
from codegen.webhooks import KEY

Document = dict[str, Any]

_OF_ANSWERS = ("examples", "headers", "links", "responses")
"""The components that no part of a request refers to."""

_SCHEMA = re.compile(rb'"\$ref":"#/components/schemas/([^"]+)"')


def without_answers(document: Document) -> Document:
    """Return a copy of a bundled document in which every operation has one response without content: 400, or any.

    All other objects are shared with the document, so neither may be modified.
    """
    spared = {
        id(operation.spec): {**operation.spec, "responses": _one_of(operation.spec["responses"])}
        for operation in operations(document)
    }
    kept = {name: part for name, part in document.get("components", {}).items() if name not in _OF_ANSWERS}
    paths = {
        path: {key: spared.get(id(part), part) for key, part in item.items()}
        for path, item in document["paths"].items()
    }
    if "schemas" in kept:
        kept["schemas"] = _asked_for({**kept, "schemas": {}, "paths": paths}, kept["schemas"])
    return {
        **{key: value for key, value in document.items() if key != KEY},
        "paths": paths,
        "components": kept,
    }


def _asked_for(node: Any, schemas: Document) -> Document:
    """Return the schemas with a direct or indirect reference to them, in their original order."""
    names: set[str] = set()
    waiting = [node]
    while waiting:
        # Searching the serialized text for references takes a tenth of the time of walking the objects.
        named = {name.decode() for name in _SCHEMA.findall(orjson.dumps(waiting.pop()))}
        waiting += [schemas[name] for name in named - names]
        names |= named
    return {name: schema for name, schema in schemas.items() if name in names}


def _one_of(responses: Document) -> Document:
    """Return the single response to keep: 400 if the operation can refuse a request for its content, else any."""
    status = "400" if "400" in responses else "default"
    return {status: {"description": status}}
