"""The contract as OpenAPI 3.1."""

from typing import Any

import pytest

from codegen.version_3_1 import schema_to_3_1, to_3_1


def test_schemas_are_converted_wherever_they_are() -> None:
    old, new = {"type": "string", "nullable": True}, {"type": ["string", "null"]}
    door = {"name": "door", "in": "query", "example": "front"}
    components = {
        "parameters": {"Door": {**door, "schema": old}},
        "schemas": {"Named": {"properties": {"example": old}}},
    }

    document = to_3_1({"openapi": "3.0.3", "paths": {}, "components": components})

    assert document["openapi"] == "3.1.1"
    assert document["components"] == {
        "parameters": {"Door": {**door, "schema": new}},
        "schemas": {"Named": {"properties": {"example": new}}},
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"allOf": [{"$ref": "#/x"}], "nullable": True}, {"anyOf": [{"$ref": "#/x"}, {"type": "null"}]}),
        (
            {"oneOf": [{}, {}], "nullable": True, "description": "One."},
            {"description": "One.", "anyOf": [{"oneOf": [{}, {}]}, {"type": "null"}]},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        ({"type": "integer", "maximum": 1, "exclusiveMaximum": False}, {"type": "integer", "maximum": 1}),
        ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
        ({"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}),
        ({"$ref": "#/x", "description": "ignored in 3.0"}, {"$ref": "#/x"}),
    ],
)
def test_each_keyword(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert schema_to_3_1(old) == new
