"""Convert operation ids for other tools: `sessions.revoke_others` becomes `sessions_revoke_others`, or
`revoke_others` without its tag."""

from collections.abc import Callable
from typing import Any

import orjson

from codegen.links import link_holders, without_links
from codegen.walk import operations

Document = dict[str, Any]


def flat_ids(document: Document) -> Document:
    """Return a copy of the document with `_` for the dot of every operationId, in links too."""
    return _renamed(document, lambda operation_id: operation_id.replace(".", "_"))


def bare_ids(document: Document) -> Document:
    """Return a copy of the document with operationIds without their tag, for generators that group operations by
    tag.

    Such ids are unique only within a tag, so links, which refer to operations by id alone, are removed.
    """
    return without_links(_renamed(document, lambda operation_id: operation_id.partition(".")[2]))


def _renamed(document: Document, rename: Callable[[str], str]) -> Document:
    document = orjson.loads(orjson.dumps(document))
    for operation in operations(document):
        operation.spec["operationId"] = rename(operation.spec["operationId"])
    for holder in link_holders(document):
        for link in holder.get("links", {}).values():
            if "operationId" in link:
                link["operationId"] = rename(link["operationId"])
    return document
