"""The links from one operation's answer to another's request: for tests that follow them, out of the way elsewhere."""

from collections.abc import Iterator
from typing import Any

import orjson

from codegen.walk import operations

Document = dict[str, Any]


def without_links(document: Document) -> Document:
    """A copy of the document without links: a widely used parser takes a request body in one for an error."""
    document = orjson.loads(orjson.dumps(document))
    for holder in link_holders(document):
        holder.pop("links", None)
    return document


def link_holders(document: Document) -> Iterator[dict[str, Any]]:
    """Yield every object of a bundled document that may have `links`."""
    components = document.get("components", {})
    yield components
    yield from components.get("responses", {}).values()
    for operation in operations(document):
        yield from operation.spec["responses"].values()
