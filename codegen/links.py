"""OpenAPI links from one operation's response to another's request: tests follow them; the published document has
none."""

from collections.abc import Iterator
from typing import Any

import orjson

from codegen.walk import operations

Document = dict[str, Any]


def without_links(document: Document) -> Document:
    """Return a copy of the document without links: a widely used parser reports a request body in one as an error."""
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
