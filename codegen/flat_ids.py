"""Operation ids as third-party generators like them: `sessions.revoke_others` is published with a `_`."""

from typing import Any

import orjson

from codegen.walk import operations


def flat_ids(document: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document with `_` for the dot of every operationId, in links too."""
    document = orjson.loads(orjson.dumps(document))
    for operation in operations(document):
        operation.spec["operationId"] = _flat(operation.spec["operationId"])
        for response in operation.spec["responses"].values():
            _flatten_links(response)
    for response in document.get("components", {}).get("responses", {}).values():
        _flatten_links(response)
    _flatten_links(document.get("components", {}))
    return document


def _flat(operation_id: str) -> str:
    return operation_id.replace(".", "_")


def _flatten_links(holder: dict[str, Any]) -> None:
    for link in holder.get("links", {}).values():
        if "operationId" in link:
            link["operationId"] = _flat(link["operationId"])
