"""What a typed client sends and reads: the contract for generators of clients, one document for all of them.

Each change here is one that some generator needs and none minds; docs/pages/guides/generate-a-client.md says which ones
were tried.
"""

from typing import Any

from codegen.walk import change_schemas, inside, operations, resolve

Document = dict[str, Any]

EXTENSION = "x-client-form"
"""Beside several forms of a value, the one that is natural in a language with types; `"true"` is as good as `true`."""

_KEPT = ("description", "example")
_OF_TEXTS = ("pattern", "maxLength")
"""What a date-time says about its text; in a client it is a date, which some print in another length."""

_BEARER = "bearerAuth"
_ERROR = {
    "description": "An error, by its status and code.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


def client_forms(document: Document) -> Document:
    """A copy of a bundled document of which generators make right clients."""
    document = change_schemas(document, _changed)
    components = document["components"]
    components["securitySchemes"] = {_BEARER: components["securitySchemes"][_BEARER]}
    # Of what is named there, a client reads but this.
    components["responses"] = {"Error": _ERROR}
    components.pop("examples", None)
    _name_what_may_be_null(components["schemas"])
    _send_one_token(document)
    for operation in operations(document):
        _send_one_token(operation.spec)
        _have_a_body_or_none(document, operation.spec)
        operation.spec["responses"] = _with_one_error(operation.spec["responses"])
    return document


def _changed(schema: Document) -> Document:
    return _open(_nullable(_without_patterns(_client_form(schema))))


def _client_form(schema: Document) -> Document:
    if EXTENSION not in schema:
        return schema
    form: Document = inside(schema[EXTENSION], _without_patterns)
    return form if "$ref" in form else {**{key: schema[key] for key in _KEPT if key in schema}, **form}


def _without_patterns(schema: Document) -> Document:
    """The schema without its pattern, and without an `allOf` whose parts held nothing but further patterns.

    They are written in the dialect of ECMA-262. Generated clients check them in that of their own language, and some
    byte by byte: PHP's refused every password. They are the service's to check.
    """
    unwanted = _OF_TEXTS if schema.get("format") == "date-time" else ("pattern",)
    kept = {key: value for key, value in schema.items() if key not in unwanted}
    if "type" in kept and all(part == {"type": kept["type"]} for part in kept.get("allOf", ())):
        kept.pop("allOf", None)
    return kept


def _nullable(schema: Document) -> Document:
    """The schema, saying that something may be null in the way that is understood by all.

    By the letter of 3.0 this is a word without effect beside a reference, which is why the contract says it otherwise;
    of that, some generators make a type that null does not have.
    """
    match schema:
        case {"oneOf": [{"nullable": True, "enum": [None]}, {"$ref": _} as other], **said}:
            return {**said, "nullable": True, "allOf": [other]}
    return schema


def _open(schema: Document) -> Document:
    """The schema, admitting keys that a later version adds: Go's client cannot read an answer with one otherwise."""
    closed = schema.get("additionalProperties") is False
    return {key: value for key, value in schema.items() if not (closed and key == "additionalProperties")}


def _name_what_may_be_null(schemas: Document) -> None:
    """Without a title, a generator for Python calls the object that may be null `CurrentSessionType0`."""
    for name, schema in schemas.items():
        if schema.get("nullable"):
            schema["title"] = name


def _send_one_token(holder: Document) -> None:
    """A client holds one token, of a session or of a pending sign-in, and sends it as bearer.

    Ruby's cannot be run where an operation takes a cookie, too, and Rust's sends its token twice where either will do.
    """
    if holder.get("security"):
        bearer: list[dict[str, list[str]]] = [{_BEARER: []}]
        holder["security"] = bearer + [{}] * ({} in holder["security"])


def _have_a_body_or_none(document: Document, operation: Document) -> None:
    """A body that may be left out is left out where it has no fields, and must be there otherwise.

    The clients of Go, Java and Rust send `null` where nothing is given for one, which the service refuses.
    """
    if "requestBody" not in operation:
        return
    bodies = operation["requestBody"]["content"].values()
    if any(resolve(document, body["schema"]).get("properties") for body in bodies):
        operation["requestBody"]["required"] = True
    else:
        del operation["requestBody"]


def _with_one_error(responses: Document) -> Document:
    """The answers below 400, and one for all others, as all of these have one body.

    Rust's client takes every error for the first that is listed; others make a type or a field of each. Where nothing
    else has a body they are listed: openapi-generator takes that of `default` for what such an operation gives.
    """
    told = {status: answer for status, answer in responses.items() if int(status) < 400}
    has_body = any("content" in answer for answer in told.values())
    others = ["default"] if has_body else [status for status in responses if status not in told]
    return {**told, **{status: {"$ref": "#/components/responses/Error"} for status in others}}
