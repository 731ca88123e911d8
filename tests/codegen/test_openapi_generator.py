"""What openapi-generator would get wrong, language by language, is said so that it gets it right."""

import subprocess
import sys
from typing import Any

import orjson
import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.client_forms import client_forms
from codegen.openapi_generator import for_openapi_generator
from codegen.walk import operations

GIVEN = client_forms(bundle())
LANGUAGES = ["go", "java", "php", "ruby", "rust"]


def operation(language: str, operation_id: str) -> dict[str, Any]:
    """Give one operation of the document that is made for a language."""
    document = for_openapi_generator(GIVEN, language)
    return next(o.spec for o in operations(document) if o.spec["operationId"] == operation_id)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_made_is_valid(language: str) -> None:
    validate(for_openapi_generator(GIVEN, language))


def test_the_document_given_stays_as_it_was() -> None:
    before = orjson.dumps(GIVEN)

    for_openapi_generator(GIVEN, "rust")

    assert orjson.dumps(GIVEN) == before


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_session_or_null_is_a_session_that_may_be_null(language: str) -> None:
    document = for_openapi_generator(GIVEN, language)
    answer = operation(language, "sessions.get_current")["responses"]["200"]

    schema = {"$ref": "#/components/schemas/CurrentSession"}
    assert answer["content"]["application/json"]["schema"] == schema
    assert document["components"]["schemas"]["CurrentSession"]["nullable"] is True


class TestToken:
    def test_one_scheme_is_left(self) -> None:
        document = for_openapi_generator(GIVEN, "ruby")

        assert list(document["components"]["securitySchemes"]) == ["bearerAuth"]
        assert document["security"] == [{"bearerAuth": []}]

    def test_a_pending_token_is_sent_the_same_way(self) -> None:
        assert operation("ruby", "two_factor.verify_totp")["security"] == [{"bearerAuth": []}]

    def test_who_needs_none_needs_none(self) -> None:
        assert operation("ruby", "authentication.sign_in_email")["security"] == []
        assert operation("ruby", "authentication.sign_out")["security"] == [{"bearerAuth": []}, {}]


class TestBodies:
    def test_an_empty_one_is_none_where_null_would_be_sent(self) -> None:
        assert "requestBody" not in operation("go", "authentication.sign_out")
        assert "requestBody" in operation("php", "authentication.sign_out")

    def test_one_with_fields_must_be_there(self) -> None:
        assert operation("rust", "users.update")["requestBody"]["required"] is True
        assert not operation("php", "users.update")["requestBody"].get("required")


class TestErrors:
    def test_are_one_where_the_first_would_stand_for_all(self) -> None:
        responses = operation("rust", "authentication.sign_in_email")["responses"]

        assert list(responses) == ["200", "default"]
        content = responses["default"]["content"]["application/json"]
        assert content["schema"] == {"$ref": "#/components/schemas/Error"}

    def test_have_each_their_status_elsewhere(self) -> None:
        assert "401" in operation("java", "authentication.sign_in_email")["responses"]


def test_new_keys_are_read_where_none_would_be() -> None:
    def closed(language: str) -> bool:
        schemas = for_openapi_generator(GIVEN, language)["components"]["schemas"]
        return "additionalProperties" in schemas["User"]

    assert (closed("go"), closed("java")) == (False, True)


def test_as_a_program_it_changes_what_it_reads() -> None:
    command = [sys.executable, "-m", "codegen.openapi_generator", "rust"]

    changed = subprocess.run(command, input=orjson.dumps(GIVEN), capture_output=True, check=True).stdout

    assert orjson.loads(changed) == for_openapi_generator(GIVEN, "rust")
