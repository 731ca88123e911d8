"""The contract read for the house rules: what is named where, with every reference followed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codegen.bundle import bundle
from codegen.client_forms import is_of_protocol
from codegen.version_3_1 import to_3_1
from codegen.walk import Operation, inside, operations, page_tags, resolve

DOCUMENT = bundle()
DOCUMENT_3_1 = to_3_1(DOCUMENT)
OPERATIONS = {operation.spec["operationId"]: operation for operation in operations(DOCUMENT_3_1)}
PAGE_TAGS = page_tags(DOCUMENT_3_1) - {"mailbox"}
"""The tags of hosted pages. Those of the mailbox, which are read only, are held against the rules of all others."""

JSON_OPERATIONS = {
    name: operation for name, operation in OPERATIONS.items() if operation.spec["tags"][0] not in PAGE_TAGS
}
"""The operations for programs. Hosted pages answer people; tests/handlers/test_pages.py shows how."""

OWN_OPERATIONS = {
    name: operation
    for name, operation in JSON_OPERATIONS.items()
    if not is_of_protocol(DOCUMENT_3_1, operation.spec)
}
"""The operations for programs with our own form of requests and errors, not that of the OAuth protocol or of SCIM."""

REFERENCES = "#/components/"


@dataclass(frozen=True, slots=True)
class Example:
    """One example and the schema it stands beside; `where` finds it in the contract."""

    where: str
    schema: dict[str, Any]
    value: Any


def parameters(operation: Operation) -> list[dict[str, Any]]:
    """The parameters of an operation, those of its path included."""
    shared = DOCUMENT_3_1["paths"][operation.path].get("parameters", [])
    return [
        resolve(DOCUMENT_3_1, parameter) for parameter in [*shared, *operation.spec.get("parameters", [])]
    ]


def bodies(operation: Operation) -> dict[str, dict[str, Any]]:
    """The media type objects of an operation's request, by media type."""
    content: dict[str, dict[str, Any]] = resolve(DOCUMENT_3_1, operation.spec.get("requestBody", {})).get(
        "content", {}
    )
    return content


def responses(operation: Operation) -> dict[int, dict[str, Any]]:
    """The response objects of an operation, by status."""
    return {int(status): resolve(DOCUMENT_3_1, one) for status, one in operation.spec["responses"].items()}


def media(operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every media type object of an operation, with a name for it."""
    for media_type, content in bodies(operation).items():
        yield f"{operation.spec['operationId']} {media_type}", content
    for status, response in responses(operation).items():
        for media_type, content in response.get("content", {}).items():
            yield f"{operation.spec['operationId']} {status} {media_type}", content


def examples() -> Iterator[Example]:
    """Every example there is: of bodies, parameters, headers, and inside schemas."""
    for operation_id, operation in OPERATIONS.items():
        for where, content in media(operation):
            yield from _beside(where, content)
        for parameter in parameters(operation):
            yield from _beside(f"{operation_id} {parameter['name']}", parameter)
    for name, header in DOCUMENT_3_1["components"].get("headers", {}).items():
        yield from _beside(f"header {name}", header)
        yield from _within(f"header {name}", header["schema"])
    for name, schema in DOCUMENT_3_1["components"]["schemas"].items():
        yield from _within(f"schema {name}", schema)


def schemas_in(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema and all schemas inside it, without following references."""
    found: list[dict[str, Any]] = []

    def keep(one: dict[str, Any]) -> dict[str, Any]:
        found.append(one)
        return one

    inside(schema, keep)
    return found


def schemas_under(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema, all schemas inside it and all it refers to."""
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        for one in schemas_in(waiting.pop()):
            yield one
            if "$ref" in one and one["$ref"] not in seen:
                seen.add(one["$ref"])
                waiting.append(resolve(DOCUMENT_3_1, one))


def references(node: Any) -> Iterator[dict[str, Any]]:
    """Every object with a `$ref` below `node`."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def keys(node: Any) -> Iterator[str]:
    """Every key below `node`."""
    if isinstance(node, dict):
        yield from node
        for value in node.values():
            yield from keys(value)
    elif isinstance(node, list):
        for item in node:
            yield from keys(item)


def _beside(where: str, holder: dict[str, Any]) -> Iterator[Example]:
    """The examples of a media type, parameter or header object."""
    if "example" in holder:
        yield Example(where, holder["schema"], holder["example"])
    for name, example in holder.get("examples", {}).items():
        yield Example(f"{where} {name}", holder["schema"], resolve(DOCUMENT_3_1, example)["value"])


def _within(where: str, schema: dict[str, Any]) -> Iterator[Example]:
    """The examples of a schema and of the schemas inside it."""
    for one in schemas_in(schema):
        for value in one.get("examples", []):
            yield Example(where, one, value)
