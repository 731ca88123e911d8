"""The contract without what only answers are made of: half of it, for whoever looks at requests alone."""

from typing import Any

from codegen.walk import operations

Document = dict[str, Any]

_OF_ANSWERS = ("examples", "headers", "links", "responses")
"""The components that no part of a request refers to."""


def without_answers(document: Document) -> Document:
    """A copy of a bundled document in which each operation only names the statuses it answers with.

    What is kept is shared with the document, so neither may be changed.
    """
    spared = {id(one.spec): {**one.spec, "responses": _named(one.spec)} for one in operations(document)}
    kept = {name: part for name, part in document.get("components", {}).items() if name not in _OF_ANSWERS}
    paths = {
        path: {key: spared.get(id(part), part) for key, part in item.items()}
        for path, item in document["paths"].items()
    }
    return {**document, "paths": paths, "components": kept}


def _named(operation: Document) -> Document:
    return {status: {"description": status} for status in operation["responses"]}
