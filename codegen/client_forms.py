"""The contract for client generators: the requests and responses of a typed client, one document for all generators.

At least one generator needs each change, and no tested generator is harmed by it. The tested generators are listed in
docs/pages/guides/generate-a-client.md.
"""

from collections.abc import Callable
from typing import Any

from codegen.components import unused, without_unused
from codegen.walk import change_schemas, inside, operations, page_tags, resolve
from codegen.webhooks import with_types_only

Document = dict[str, Any]

EXTENSION = "x-client-form"
"""The key of the schema for typed clients where requests accept more, such as the text `"true"` for `true`."""

_KEPT = ("description", "example")
_OF_TEXTS = ("pattern", "maxLength")
"""The constraints on the text of a date-time; in a client it is a date, which some languages print at another
length."""


_PROTOCOL_ERRORS = ("#/components/schemas/OAuthError", "#/components/schemas/ScimError")
_BEARER = "bearerAuth"
_ERROR = {
    "description": "An error, by its status and code.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


def client_forms(document: Document, *, event_union: bool = False) -> Document:
    """Return a copy of a bundled document from which generators make correct clients, and types of webhook events.

    `event_union` adds the union of all events. Go's generator cannot tell its members apart, and makes the client
    depend on a package for it, so it is only for the generators of the two SDKs.
    """
    document = for_programs(change_schemas(document, _changed))
    document = with_types_only(_without(document, is_of_protocol), union=event_union)
    components = document["components"]
    answers = {
        id(operation.spec): {
            status: resolve(document, answer) if int(status) < 400 else answer
            for status, answer in operation.spec["responses"].items()
        }
        for operation in operations(document)
    }
    components["securitySchemes"] = {_BEARER: components["securitySchemes"][_BEARER]}
    # Of the components named there, a client reads only this one.
    components["responses"] = {"Error": _ERROR}
    components.pop("examples", None)
    _name_nullable_schemas(components["schemas"])
    _send_one_token(document)
    for operation in operations(document):
        _send_one_token(operation.spec)
        _require_or_remove_body(document, operation.spec)
        operation.spec["responses"] = _with_one_error(answers[id(operation.spec)])
    return document


def for_programs(document: Document) -> Document:
    """Return the document without hosted pages, which no client uses, and without components that only they use."""
    pages = page_tags(document)
    return _without(document, lambda _, operation: not pages.isdisjoint(operation.get("tags", ())))


def is_of_protocol(document: Document, operation: Document) -> bool:
    """Return whether an operation has the errors of the OAuth protocol or of SCIM.

    Applications call it with a library for OpenID Connect, directories with their own client: it has no session, and
    errors of its own kind.
    """
    answers = (resolve(document, answer) for answer in operation.get("responses", {}).values())
    contents = (content for answer in answers for content in answer.get("content", {}).values())
    return any(content.get("schema", {}).get("$ref") in _PROTOCOL_ERRORS for content in contents)


def _without(document: Document, is_unwanted: Callable[[Document, Document], bool]) -> Document:
    """Return the document without some operations, and without the tags and components that only they use."""
    paths = {
        path: {
            key: value
            for key, value in item.items()
            if not (isinstance(value, dict) and is_unwanted(document, value))
        }
        for path, item in document["paths"].items()
    }
    made = {**document, "paths": {path: item for path, item in paths.items() if item}}
    used = {tag for operation in operations(made) for tag in operation.spec.get("tags", ())}
    if "tags" in document:
        made["tags"] = [tag for tag in document["tags"] if tag["name"] in used]
    return without_unused(made, keep=unused(document))


def _changed(schema: Document) -> Document:
    return _open(_nullable(_without_patterns(_client_form(schema))))


def _client_form(schema: Document) -> Document:
    if EXTENSION not in schema:
        return schema
    form: Document = inside(schema[EXTENSION], _without_patterns)
    return form if "$ref" in form else {**{key: schema[key] for key in _KEPT if key in schema}, **form}


def _without_patterns(schema: Document) -> Document:
    """Return the schema without its pattern, and without an `allOf` that contains only patterns.

    Patterns use the dialect of ECMA-262. Generated clients check them in the dialect of their own language, and some
    compare bytes: the PHP client refused every password. The service checks the patterns.
    """
    unwanted = _OF_TEXTS if schema.get("format") == "date-time" else ("pattern",)
    kept = {key: value for key, value in schema.items() if key not in unwanted}
    if "type" in kept and all(alternative == {"type": kept["type"]} for alternative in kept.get("allOf", ())):
        kept.pop("allOf", None)
    return kept


def _nullable(schema: Document) -> Document:
    """Return the schema with `nullable` written in the form that all generators understand.

    In OpenAPI 3.0, `nullable` next to a reference has no effect, so the contract uses another form. Some generators
    create a type that cannot be null from that form.
    """
    match schema:
        case {"oneOf": [{"nullable": True, "enum": [None]}, {"$ref": _} as other], **said}:
            return {**said, "nullable": True, "allOf": [other]}
    return schema


def _open(schema: Document) -> Document:
    """Return the schema, allowing keys that a later version may add: Go's client fails on unknown keys otherwise."""
    closed = schema.get("additionalProperties") is False
    return {key: value for key, value in schema.items() if not (closed and key == "additionalProperties")}


def _name_nullable_schemas(schemas: Document) -> None:
    """Without a title, a generator for Python names the nullable object `CurrentSessionType0`."""
    for name, schema in schemas.items():
        if schema.get("nullable"):
            schema["title"] = name


def _send_one_token(holder: Document) -> None:
    """Return one token scheme: a client holds one token, of a session or a pending sign-in, and sends it as bearer.

    Ruby's client fails on operations that also accept a cookie, and Rust's sends its token twice if both are allowed.
    """
    if holder.get("security"):
        bearer: list[dict[str, list[str]]] = [{_BEARER: []}]
        holder["security"] = bearer + [{}] * ({} in holder["security"])


def _require_or_remove_body(document: Document, operation: Document) -> None:
    """Remove an optional body without fields; make any other body required.

    The clients of Go, Java and Rust send `null` for an omitted body, which the service refuses.
    """
    if "requestBody" not in operation:
        return
    bodies = operation["requestBody"]["content"].values()
    if any(resolve(document, body["schema"]).get("properties") for body in bodies):
        operation["requestBody"]["required"] = True
    else:
        del operation["requestBody"]


def _with_one_error(responses: Document) -> Document:
    """Return the responses below 400, and a single one for all errors, because all errors have the same body.

    Rust's client parses every error as the first one listed; other clients create a type or a field for each. If no
    success has a body, errors are listed: openapi-generator would use `default` as the operation's result.
    """
    told = {status: answer for status, answer in responses.items() if int(status) < 400}
    has_body = any("content" in answer for answer in told.values())
    others = ["default"] if has_body else [status for status in responses if status not in told]
    return {**told, **{status: {"$ref": "#/components/responses/Error"} for status in others}}
