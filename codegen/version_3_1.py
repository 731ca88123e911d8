"""The contract as OpenAPI 3.1, whose schemas are plain JSON Schema 2020-12."""

from typing import Any

from codegen.walk import change_schemas
from codegen.webhooks import KEY, KEY_3_1

_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_ENCODINGS = {"byte": {"contentEncoding": "base64"}, "binary": {}}


def to_3_1(document: dict[str, Any]) -> dict[str, Any]:
    """Return a bundled 3.0.3 document as 3.1.1: null is a type, bounds are numbers, schemas list examples,
    webhooks are no extension."""
    changed = {
        KEY_3_1 if key == KEY else key: value
        for key, value in change_schemas(document, schema_to_3_1).items()
    }
    return {
        **changed,
        "openapi": "3.1.1",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
    }


def schema_to_3_1(schema: dict[str, Any]) -> dict[str, Any]:
    """Return one schema object of OpenAPI 3.0.3, without the schemas inside it, as JSON Schema 2020-12."""
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    if schema.get("nullable") and schema.get("enum") == [None]:
        return {"type": "null", **{key: schema[key] for key in ("title", "description") if key in schema}}
    changed = {key: value for key, value in schema.items() if key not in {"nullable", "example"}}
    if "example" in schema:
        changed["examples"] = [schema["example"]]
    _number_the_bounds(changed)
    if changed.get("format") in _ENCODINGS:
        changed |= _ENCODINGS[changed.pop("format")]
    return _with_null(changed) if schema.get("nullable") else changed


def _number_the_bounds(schema: dict[str, Any]) -> None:
    """Convert `minimum: 1, exclusiveMinimum: true` to `exclusiveMinimum: 1`."""
    for exclusive, inclusive in _BOUNDS:
        if isinstance(flag := schema.pop(exclusive, None), bool) and flag:
            schema[exclusive] = schema.pop(inclusive)


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema, allowing null. A schema without a type consists of other schemas, so null is added to
    these."""
    if "type" not in schema:
        about: dict[str, Any] = {
            key: schema.pop(key) for key in ("title", "description", "examples") if key in schema
        }
        only = schema["allOf"][0] if list(schema) == ["allOf"] and len(schema["allOf"]) == 1 else schema
        return {**about, "anyOf": [only, {"type": "null"}]}
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    schema["type"] = [schema["type"], "null"]
    return schema
