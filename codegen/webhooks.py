"""The events that webhooks deliver: `x-webhooks` of a bundled 3.0.3 document, `webhooks` of one in 3.1."""

from typing import Any

from codegen.components import unused, without_unused

Document = dict[str, Any]

KEY = "x-webhooks"
"""OpenAPI 3.0 has no webhooks, so there they are an extension of the same form."""

KEY_3_1 = "webhooks"

EVENT = "WebhookEvent"
"""The schema of all events in the variant for client generators: a union with the discriminator `type`."""

_DESCRIPTION = "The body of a webhook request: an event, whose members depend on its `type`."


def requests(document: Document) -> dict[str, Document]:
    """Return the request of every event by the event's type."""
    found: Document = document.get(KEY) or document.get(KEY_3_1) or {}
    return {name: item["post"] for name, item in found.items()}


def schemas(document: Document) -> dict[str, Document]:
    """Return the schema of every event, which is a reference, by the event's type."""
    return {
        name: request["requestBody"]["content"]["application/json"]["schema"]
        for name, request in requests(document).items()
    }


def without_webhooks(document: Document) -> Document:
    """Return a 3.0.3 document without webhooks and their components."""
    return without_unused(_without_key(document), keep=unused(document))


def with_types_only(document: Document, *, union: bool) -> Document:
    """Return a 3.0.3 document with the schemas of events, but without webhooks: generators make only types of them.

    With `union` it has a schema of all events, too.
    """
    made = _without_key(document)
    kept = dict(made["components"].get("schemas", {}))
    if union:
        kept[EVENT] = _union(document)
    made["components"] = {**made["components"], "schemas": kept}
    return without_unused(made, keep={*unused(document), *(("schemas", name) for name in kept)})


def _union(document: Document) -> Document:
    mapping = {name: schema["$ref"] for name, schema in schemas(document).items()}
    return {
        "description": _DESCRIPTION,
        "oneOf": list(schemas(document).values()),
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }


def _without_key(document: Document) -> Document:
    return {key: value for key, value in document.items() if key != KEY}
