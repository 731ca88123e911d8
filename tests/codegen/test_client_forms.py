"""The one form of a value that a generated client sends."""

import orjson

from codegen.bundle import bundle
from codegen.client_forms import EXTENSION, client_forms

SCHEMAS = client_forms(bundle())["components"]["schemas"]


def test_a_switch_is_a_boolean() -> None:
    assert SCHEMAS["Flag"]["type"] == "boolean"
    assert "anyOf" not in SCHEMAS["Flag"]
    assert SCHEMAS["Flag"]["description"]


def test_scopes_are_an_array() -> None:
    assert (SCHEMAS["Scopes"]["type"], SCHEMAS["Scopes"]["items"]["type"]) == ("array", "string")


def test_an_id_token_comes_with_its_companions() -> None:
    assert SCHEMAS["IdToken"] == {"$ref": "#/components/schemas/IdTokenWithCompanions"}


def test_every_union_of_the_requests_has_a_client_form() -> None:
    unions = {name for name, schema in bundle()["components"]["schemas"].items() if "anyOf" in schema}

    assert unions
    assert not [name for name in unions if EXTENSION not in bundle()["components"]["schemas"][name]]


def test_no_pattern_is_left_for_another_dialect() -> None:
    document = client_forms(bundle())

    assert '"pattern":' in orjson.dumps(bundle()).decode()
    assert '"pattern":' not in orjson.dumps(document).decode()
    assert SCHEMAS["Scopes"]["items"] == {"type": "string", "maxLength": 256}


def test_a_date_says_nothing_of_its_text() -> None:
    assert SCHEMAS["Session"]["properties"]["createdAt"].keys() == {
        "description", "type", "format", "example",
    }  # fmt: skip
    assert SCHEMAS["Session"]["properties"]["ipAddress"]["maxLength"] == 45


def test_parts_that_held_further_patterns_are_gone() -> None:
    properties = SCHEMAS["SignUpRequest"]["properties"]

    assert "allOf" not in properties["email"]
    assert properties["rememberMe"]["allOf"]


def test_parts_that_hold_more_than_patterns_stay() -> None:
    part = {"type": "string", "maxLength": 5}
    document = {"paths": {}, "components": {"schemas": {"Short": {"type": "string", "allOf": [part]}}}}

    assert client_forms(document)["components"]["schemas"]["Short"]["allOf"] == [part]
