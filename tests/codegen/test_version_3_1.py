"""The contract as OpenAPI 3.1."""

from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.version_3_1 import schema_to_3_1, to_3_1

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


class TestTo31:
    def test_is_valid_and_says_so(self) -> None:
        document = to_3_1(bundle(index=INDEX))

        assert document["openapi"] == "3.1.1"
        validate(document)

    def test_a_property_called_example_is_a_property(self) -> None:
        properties = to_3_1(bundle(index=INDEX))["components"]["schemas"]["Door"]["properties"]

        assert properties["example"] == {"type": ["string", "null"]}

    def test_schemas_of_parameters_and_bodies_are_converted(self) -> None:
        document = bundle(index=INDEX)
        document["components"]["parameters"]["Door"]["schema"]["nullable"] = True

        converted = to_3_1(document)

        assert converted["components"]["parameters"]["Door"]["schema"]["type"] == ["string", "null"]
        assert converted["components"]["parameters"]["Door"]["example"] == "front"


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
