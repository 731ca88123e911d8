"""The document that clients are generated from: what some generator would get wrong is said so that each is right."""

from typing import Any

import orjson
import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.client_forms import EXTENSION, client_forms
from codegen.links import without_links
from codegen.version_3_1 import to_3_1
from codegen.walk import operations

MADE = client_forms(without_links(bundle()))
OPERATIONS = {operation.spec["operationId"]: operation.spec for operation in operations(MADE)}
SCHEMAS = MADE["components"]["schemas"]


@pytest.mark.parametrize("document", [MADE, to_3_1(MADE)], ids=["3.0", "3.1"])
def test_it_is_valid(document: dict[str, Any]) -> None:
    validate(document)


def test_each_union_becomes_one_type() -> None:
    assert SCHEMAS["Flag"]["type"] == "boolean"
    assert not {"anyOf", "oneOf"} & SCHEMAS["Flag"].keys()
    assert SCHEMAS["Flag"]["description"]
    assert (SCHEMAS["Scopes"]["type"], SCHEMAS["Scopes"]["items"]["type"]) == ("array", "string")
    assert SCHEMAS["IdToken"] == {"$ref": "#/components/schemas/IdTokenWithCompanions"}


def test_every_union_has_a_client_form() -> None:
    schemas = bundle()["components"]["schemas"]
    unions = {name for name, schema in schemas.items() if {"anyOf", "oneOf"} & schema.keys()}

    answers = {"MagicLinkAnswer", "ConfirmMagicLinkAnswer", "EmailCodeAnswer", "PasskeyAnswer"}
    assert unions == {"Flag", "Scopes", "IdToken", "UserRoles", "InitialRoles"} | answers
    assert not [name for name in unions if EXTENSION not in schemas[name]]


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


def test_parts_that_held_nothing_but_patterns_are_gone() -> None:
    properties = SCHEMAS["SignUpRequest"]["properties"]
    part = {"type": "string", "maxLength": 5}
    document = bundle()
    document["components"]["schemas"]["Short"] = {"type": "string", "allOf": [part]}

    assert "allOf" not in properties["email"]
    assert properties["rememberMe"]["allOf"]
    assert client_forms(document)["components"]["schemas"]["Short"]["allOf"] == [part]


def test_a_session_may_be_null_by_itself() -> None:
    content = OPERATIONS["sessions.get_current"]["responses"]["200"]["content"]

    assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/CurrentSession"}
    assert SCHEMAS["CurrentSession"]["nullable"] is True
    assert SCHEMAS["CurrentSession"]["title"] == "CurrentSession"


@pytest.mark.parametrize("name", ["SignInAnswer", "SocialSignIn"])
def test_a_user_that_may_be_null_is_nullable(name: str) -> None:
    user = SCHEMAS[name]["properties"]["user"]
    newer = to_3_1(MADE)["components"]["schemas"][name]["properties"]["user"]

    assert user.keys() == {"description", "nullable", "allOf"}
    assert user["allOf"] == [{"$ref": "#/components/schemas/ReducedUser"}]
    assert newer["anyOf"] == [{"$ref": "#/components/schemas/ReducedUser"}, {"type": "null"}]


def test_an_answer_may_have_keys_that_come_later() -> None:
    assert b'"additionalProperties":false' in orjson.dumps(bundle())
    assert b'"additionalProperties":false' not in orjson.dumps(MADE)
    assert SCHEMAS["AccountProfile"]["properties"]["data"]["additionalProperties"] is True


def test_one_scheme_is_left_for_every_token() -> None:
    assert list(MADE["components"]["securitySchemes"]) == ["bearerAuth"]
    assert MADE["security"] == [{"bearerAuth": []}]
    assert OPERATIONS["two_factor.verify_totp"]["security"] == [{"bearerAuth": []}]
    assert OPERATIONS["authentication.sign_in_email"]["security"] == []
    assert OPERATIONS["authentication.sign_out"]["security"] == [{"bearerAuth": []}, {}]


class TestBodies:
    @pytest.mark.parametrize(
        "operation",
        ["authentication.sign_out", "sessions.revoke_all", "sessions.revoke_others", "two_factor.send_otp"],
    )
    def test_an_empty_one_is_none_for_null_would_be_sent(self, operation: str) -> None:
        published = {one.spec["operationId"]: one.spec for one in operations(bundle())}

        assert published[operation]["requestBody"]["required"] is False
        assert "requestBody" not in OPERATIONS[operation]

    def test_one_with_fields_must_be_there(self) -> None:
        bodies = [one["requestBody"] for one in OPERATIONS.values() if "requestBody" in one]

        assert "requestBody" in OPERATIONS["users.update"]
        assert all(body["required"] is True for body in bodies)


def test_errors_are_one_for_the_first_would_stand_for_all() -> None:
    responses = OPERATIONS["authentication.sign_in_email"]["responses"]
    [error] = MADE["components"]["responses"].values()

    assert responses.keys() == {"200", "default"}
    assert responses["default"] == {"$ref": "#/components/responses/Error"}
    assert error["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}


def test_an_operation_that_only_redirects_gives_no_error_for_an_answer() -> None:
    responses = OPERATIONS["social.receive_callback"]["responses"]

    assert "default" not in responses
    assert responses.keys() == {"302", "408", "414", "429", "431", "500", "503"}
    assert all(
        responses[status] == {"$ref": "#/components/responses/Error"}
        for status in responses
        if status != "302"
    )


def test_operations_of_the_oauth_protocol_are_left_to_its_libraries() -> None:
    assert {"oauth.revoke", "oauth.token"}.isdisjoint(OPERATIONS)
    assert {"discovery.openid", "oauth.consent"} <= OPERATIONS.keys()
    assert "OAuthError" not in SCHEMAS
    assert [tag["name"] for tag in MADE["tags"] if tag["name"] in {"oauth", "service"}] == [
        "oauth",
        "service",
    ]
