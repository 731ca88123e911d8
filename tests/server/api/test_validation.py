"""What a refused field hears."""

from typing import Any

import pytest

from server.api.validation import Schema
from tests.server.api.conftest import Peer
from tests.server.api.raw import ask

GOOD = {"email": "ada@app.test", "password": "p"}


def complaints(schema: dict[str, Any], value: Any) -> list[str]:
    compiled = Schema("body", {"type": "object", "properties": {"it": schema}})
    failures = {} if compiled.is_valid({"it": value}) else compiled.failures({"it": value})
    return [f"{field} {text}" for field, text in failures.items()]


class TestMessages:
    @pytest.mark.parametrize(
        ("schema", "value", "text"),
        [
            ({"type": "string"}, 1, "must be a string"),
            ({"type": "string"}, None, "must be a string"),
            ({"type": "string", "nullable": True}, [], "must be a string or null"),
            ({"type": "boolean"}, "true", "must be true or false"),
            ({"type": "integer"}, 1.5, "must be an integer"),
            ({"type": "number"}, "1", "must be a number"),
            ({"type": "array", "items": {}}, {}, "must be an array"),
            ({"type": "object"}, [], "must be an object"),
            ({"enum": ["a", "b"]}, "c", "must be one of a, b"),
            ({"type": "string", "maxLength": 3}, "äöüß", "must be at most 3 characters long"),
            ({"type": "string", "minLength": 3}, "äö", "must be at least 3 characters long"),
            ({"type": "string", "minLength": 1}, "", "must be at least 1 character long"),
            ({"type": "string", "maxLength": 0}, "x", "must be empty"),
            ({"type": "integer", "minimum": 3}, 2, "must be at least 3"),
            ({"type": "integer", "maximum": 3}, 4, "must be at most 3"),
            ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, 3, "must be greater than 3"),
            ({"type": "integer", "maximum": 3, "exclusiveMaximum": True}, 3, "must be less than 3"),
            ({"type": "integer", "multipleOf": 5}, 3, "must be a multiple of 5"),
            ({"type": "array", "items": {}, "minItems": 1}, [], "must have at least 1 item"),
            ({"type": "array", "items": {}, "maxItems": 1}, [1, 2], "must have at most 1 item"),
            (
                {"type": "array", "items": {}, "uniqueItems": True},
                [1, 1],
                "must not have the same item twice",
            ),
            ({"type": "object", "minProperties": 1}, {}, "must have at least 1 member"),
            ({"type": "object", "maxProperties": 0}, {"x": 1}, "must be empty"),
            ({"type": "object", "additionalProperties": False}, {"x": 1}, "must not have other members"),
            ({"type": "string", "pattern": "^a$"}, "a\n", "has the wrong form"),
            ({"type": "string", "pattern": "^a$", "format": "email"}, "b", "must be an email address"),
            ({"type": "string", "format": "email"}, "b", "must be an email address"),
            ({"type": "string", "format": "uri"}, "b", "must be a URL"),
            ({"type": "string", "format": "date-time"}, "b", "must be a point in time"),
            (
                {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^x$"}]},
                "y",
                "must be true or false",
            ),
            ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, [], "has the wrong form"),
            ({"not": {"type": "string"}}, "x", "has the wrong form"),
        ],
    )
    def test_every_keyword_has_one(self, schema: dict[str, Any], value: Any, text: str) -> None:
        assert complaints(schema, value) == [f"body.it {text}"]

    def test_members_and_items_are_named_by_the_contract_only(self) -> None:
        schema = {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": {"type": "string"},
            "required": ["city"],
        }

        failures = complaints(schema, {"tags": ["a", 1, 2], "secret": 1, "city": 5})

        assert sorted(failures) == [
            "body.it has a member that must be a string",
            "body.it.city must be a string",
            "body.it.tags.1 must be a string",
        ]
        assert complaints(schema, {}) == ["body.it.city is required"]

    def test_null_is_another_value_where_the_contract_says_so(self) -> None:
        assert complaints({"type": "string", "nullable": True}, None) == []
        assert complaints({"type": "string", "enum": ["a"], "nullable": True}, None) == []
        assert complaints({"allOf": [{"type": "string"}], "nullable": True}, None) == []

    def test_the_whole_is_named_when_no_field_is_wrong(self) -> None:
        assert Schema("body", {"type": "object", "minProperties": 1}).failures({}) == {
            "body": "has the wrong form"
        }

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "array", "items": {"type": "string"}, "maxItems": 32768},
            {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
        ],
    )
    def test_a_long_list_gets_one_complaint(self, schema: dict[str, Any]) -> None:
        assert complaints(schema, [1] * 32000) == ["body.it has the wrong form"]


class TestBody:
    async def test_all_failing_fields_are_named_in_the_contracts_order(self, peer: Peer) -> None:
        body = {"age": 1, "method": "x", "rememberMe": "yes", "email": "eve@@secret", "profile": {"city": ""}}

        answer = await peer.post("/sign-in/email", json=body)

        assert answer.status_code == 400
        assert answer.json() == {
            "code": "VALIDATION_ERROR",
            "message": "[body.email] must be an email address; [body.password] is required; "
            "[body.rememberMe] must be true or false; [body.method] must be one of password, code; "
            "[body.age] must be at least 18; [body.profile.city] must be at least 2 characters long",
            "fields": [
                {"in": "body", "name": "email", "message": "must be an email address"},
                {"in": "body", "name": "password", "message": "is required"},
                {"in": "body", "name": "rememberMe", "message": "must be true or false"},
                {"in": "body", "name": "method", "message": "must be one of password, code"},
                {"in": "body", "name": "age", "message": "must be at least 18"},
                {"in": "body", "name": "profile.city", "message": "must be at least 2 characters long"},
            ],
        }


class TestQuery:
    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("", "[query.token] is required"),
            ("token=a&token=a", "[query.token] must be given only once"),
            ("token=a&callbackURL=/a&callbackURL=/b", "[query.callbackURL] must be given only once"),
            ("token=%00", "[query.token] must not contain U+0000"),
            ("token=%ff", "[query.token] must be percent-encoded UTF-8"),
            ("token=%ed%a0%80", "[query.token] must be percent-encoded UTF-8"),
            ("token=" + "x" * 101, "[query.token] must be at most 100 characters long"),
            ("token=a&limit=x", "[query.limit] must be an integer"),
            ("token=a&limit=11", "[query.limit] must be at most 10"),
            ("limit=1_0&callbackURL=%00", "[query.limit] must be an integer"),
        ],
    )
    async def test_wrong_parameters_are_named(self, peer: Peer, query: str, message: str) -> None:
        answer = await ask(peer.app, "GET", f"/verify-email?{query}")

        assert answer.json["code"] == "VALIDATION_ERROR"
        assert message in answer.json["message"].split("; ")

    async def test_every_wrong_one_is_a_field(self, peer: Peer) -> None:
        answer = await ask(peer.app, "GET", "/verify-email?limit=x&callbackURL=%00&callbackURL=/b")

        assert answer.json["fields"] == [
            {"in": "query", "name": "callbackURL", "message": "must be given only once"},
            {"in": "query", "name": "token", "message": "is required"},
            {"in": "query", "name": "limit", "message": "must be an integer"},
        ]
        assert answer.json["message"] == "; ".join(
            f"[{field['in']}.{field['name']}] {field['message']}" for field in answer.json["fields"]
        )

    async def test_parameters_reach_the_handler_decoded_and_typed(self, peer: Peer) -> None:
        answer = await ask(
            peer.app, "GET", "/verify-email?token=a+b%26%C3%A4&limit=7&%63allbackURL=&x=1&x=2&%ff=1"
        )

        assert answer.json == {"caller": None, "token": "a b&ä", "callback_url": None, "limit": 7}

    async def test_a_flag_that_is_none_is_refused(self, peer: Peer, bearer: dict[str, str]) -> None:
        answer = await peer.get("/get-session?disableRefresh=1", headers=bearer)

        assert answer.json()["message"] == "[query.disableRefresh] must be true or false"
