"""The document for clients as openapi-generator needs it, for what it would get wrong otherwise.

`python -m codegen.openapi_generator LANGUAGE` changes the document on standard input to that on standard output.
"""

import sys
from typing import Any

import orjson

from codegen.walk import change_schemas, operations, resolve

Document = dict[str, Any]

ONE_ERROR = frozenset({"rust"})
"""Languages whose client takes every error for the first one that is listed, as all of them have the same body."""

KNOWN_KEYS_ONLY = frozenset({"go"})
"""Languages whose client cannot read an answer that has a new key, where the contract lists all keys of today."""

NULL_FOR_NOTHING = frozenset({"go", "java", "rust"})
"""Languages whose client sends `null` where a body that may be left out is."""


_BEARER = "bearerAuth"


def for_openapi_generator(document: Document, language: str) -> Document:
    """A copy of the document that openapi-generator makes a right client of in this language."""
    document = orjson.loads(orjson.dumps(document))
    _send_one_token(document)
    if language in KNOWN_KEYS_ONLY:
        document = change_schemas(document, _with_further_keys)
    for operation in operations(document):
        for answer in operation.spec["responses"].values():
            _name_what_may_be_null(document, answer)
        if language in ONE_ERROR:
            operation.spec["responses"] = _with_one_error(operation.spec["responses"])
        if language in NULL_FOR_NOTHING:
            _have_a_body_or_none(document, operation.spec)
    return document


def _send_one_token(document: Document) -> None:
    """A client holds one token, of a session or of a pending sign-in, and sends it as bearer.

    Ruby's cannot be run where an operation takes a cookie, too, and Rust's sends its token twice where either will do.
    """
    document["components"]["securitySchemes"] = {_BEARER: document["components"]["securitySchemes"][_BEARER]}
    for holder in (document, *(operation.spec for operation in operations(document))):
        if holder.get("security"):
            bearer: list[dict[str, list[str]]] = [{_BEARER: []}]
            holder["security"] = bearer + [{}] * ({} in holder["security"])


def _name_what_may_be_null(document: Document, answer: dict[str, Any]) -> None:
    """An answer that is a component or null refers to the component alone, which is nullable then.

    Of anything else PHP's client makes a class whose name has no separators, and which does not exist.
    """
    for media_type in answer.get("content", {}).values():
        match media_type["schema"]:
            case {"oneOf": [{"$ref": reference}, {"nullable": True, "enum": [None]}]}:
                document["components"]["schemas"][reference.rpartition("/")[2]]["nullable"] = True
                media_type["schema"] = {"$ref": reference}


def _with_further_keys(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "additionalProperties"}


def _have_a_body_or_none(document: Document, operation: dict[str, Any]) -> None:
    """A body that may be left out is left out where it has no fields, and must be there otherwise."""
    if "requestBody" not in operation:
        return
    bodies = operation["requestBody"]["content"].values()
    if any(resolve(document, body["schema"]).get("properties") for body in bodies):
        operation["requestBody"]["required"] = True
    else:
        del operation["requestBody"]


def _with_one_error(responses: dict[str, Any]) -> dict[str, Any]:
    """The answers below 400, and one for all others."""
    error = {"$ref": "#/components/schemas/Error"}
    told = {status: answer for status, answer in responses.items() if int(status) < 400}
    return {
        **told,
        "default": {"description": "An error.", "content": {"application/json": {"schema": error}}},
    }


if __name__ == "__main__":
    changed = for_openapi_generator(orjson.loads(sys.stdin.buffer.read()), sys.argv[1])
    sys.stdout.buffer.write(orjson.dumps(changed))
