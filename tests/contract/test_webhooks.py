"""The rules for the events in the contract, and what holds deliveries against them."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema_rs import Draft202012Validator

from codegen.bundle import INDEX
from codegen.client_forms import client_forms
from codegen.walk import resolve
from codegen.webhooks import EVENT, KEY, requests, schemas
from domain.webhooks.publication import USER_FIELDS, WEBHOOK_EVENTS, EventType
from tests.contract.json_schemas import with_components
from tests.contract.reading import DOCUMENT, DOCUMENT_3_1, schemas_under
from tests.contract.webhook_events import check_webhook, contract

EVENTS = requests(DOCUMENT_3_1)
SIGNED = ["webhook-id", "webhook-timestamp", "webhook-signature"]
"""The headers of Standard Webhooks."""

WITHOUT_USER = (
    "signing_key.",
    "webhook.",
    "organization.",
    "invitation.",
    "team.",
    "sso.connection_",
    "sso.domain_",
    "scim.group_changed",
    "scim.stopped",
)

ROOT = Path(__file__).parents[2]

each_event = pytest.mark.parametrize("name", EVENTS)


def example(name: str) -> dict[str, Any]:
    found: dict[str, Any] = EVENTS[name]["requestBody"]["content"]["application/json"]["example"]
    return found


def schema(name: str) -> dict[str, Any]:
    return resolve(DOCUMENT_3_1, schemas(DOCUMENT_3_1)[name])


def data_of(name: str) -> dict[str, Any]:
    return resolve(DOCUMENT_3_1, schema(name)["properties"]["data"])


def pascal(name: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[._]", name))


def declared() -> dict[str, EventType]:
    for file in (ROOT / "domain").glob("*/events.py"):
        import_module(f"domain.{file.parent.name}.events")
    return WEBHOOK_EVENTS


class TestEvents:
    def test_are_the_same_in_both_versions_of_openapi(self) -> None:
        assert list(DOCUMENT[KEY]) == list(DOCUMENT_3_1["webhooks"])
        assert KEY not in DOCUMENT_3_1

    def test_are_in_the_file_of_their_tag(self) -> None:
        files = {file.stem for file in (INDEX.parent / "webhooks").glob("*.yaml")}

        assert {tag for request in EVENTS.values() for tag in request["tags"]} == files

    @each_event
    def test_is_named_group_and_verb(self, name: str) -> None:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*", name)
        assert EVENTS[name]["operationId"] == f"receive_{name.replace('.', '_')}"
        assert schemas(DOCUMENT_3_1)[name] == {"$ref": f"#/components/schemas/{pascal(name)}Event"}
        assert schema(name)["properties"]["data"] == {"$ref": f"#/components/schemas/{pascal(name)}EventData"}

    @each_event
    def test_is_described(self, name: str) -> None:
        assert EVENTS[name]["summary"]
        assert not EVENTS[name]["summary"].endswith(".")
        assert EVENTS[name]["description"].endswith(".")
        assert EVENTS[name]["requestBody"]["description"]

    @each_event
    def test_is_signed_and_received_with_any_success(self, name: str) -> None:
        headers = [resolve(DOCUMENT_3_1, parameter) for parameter in EVENTS[name]["parameters"]]

        assert [header["name"] for header in headers] == SIGNED
        for header in headers:
            assert (header["in"], header["required"]) == ("header", True)
            # A signature is valid for its secret and body only; the pattern is what can be said about any.
            assert re.fullmatch(header["schema"]["pattern"], header["example"])
        assert list(EVENTS[name]["responses"]) == ["2XX"]
        assert EVENTS[name]["security"] == []

    @each_event
    def test_says_its_type_and_time_and_what_happened(self, name: str) -> None:
        properties = schema(name)["properties"]

        assert list(properties) == ["type", "timestamp", "data"]
        assert properties["type"]["enum"] == [name]

    @each_event
    def test_says_who_did_it_to_whom(self, name: str) -> None:
        said = set(data_of(name)["properties"])

        assert "actorId" in said
        assert ("user" in said) != name.startswith(WITHOUT_USER)

    @each_event
    def test_has_everything_always(self, name: str) -> None:
        assert schema(name)["required"] == ["type", "timestamp", "data"]
        assert set(data_of(name)["required"]) == set(data_of(name)["properties"])

    @each_event
    def test_may_get_more_members(self, name: str) -> None:
        for one in schemas_under(schema(name)):
            assert one.get("additionalProperties", True) is not False

    @each_event
    def test_its_texts_are_bounded(self, name: str) -> None:
        for one in schemas_under(schema(name)):
            if "string" in one.get("type", "") and not {"const", "enum"} & set(one):
                assert "maxLength" in one, f"{one} has no bound"

    @each_event
    def test_its_members_are_camel_case_and_explained(self, name: str) -> None:
        for one in schemas_under(schema(name)):
            for key, value in one.get("properties", {}).items():
                assert re.fullmatch(r"[a-z][A-Za-z0-9]*", key)
                assert {"$ref", "description"} & set(value), f"{key} is unexplained"

    @each_event
    def test_never_carries_what_lets_someone_in(self, name: str) -> None:
        keys = {key for one in schemas_under(schema(name)) for key in one.get("properties", {})}

        assert [key for key in keys if re.search(r"token|secret|hash|digest|password", key, re.I)] == []

    @each_event
    def test_its_example_is_one(self, name: str) -> None:
        check_webhook(contract(), orjson.dumps(example(name)))

    def test_the_union_for_generators_knows_each_by_its_type(self) -> None:
        union = client_forms(DOCUMENT, event_union=True)["components"]["schemas"][EVENT]

        assert set(union["discriminator"]["mapping"]) == set(EVENTS)
        assert {one["$ref"] for one in union["oneOf"]} == set(union["discriminator"]["mapping"].values())


class TestDeclarations:
    """What the capabilities declare is what the contract describes."""

    def test_every_declared_event_is_in_the_contract(self) -> None:
        assert set(declared()) - set(EVENTS) == set()

    def test_every_event_of_the_contract_is_declared(self) -> None:
        assert set(EVENTS) - set(declared()) == set()

    def test_events_have_a_user_where_the_contract_says_so(self) -> None:
        wrong = [
            one.name
            for one in declared().values()
            if one.has_user != ("user" in data_of(one.name)["properties"])
        ]

        assert wrong == []

    def test_the_fields_of_the_user_are_those_of_the_contract(self) -> None:
        assert set(USER_FIELDS) == set(DOCUMENT["components"]["schemas"]["WebhookUser"]["properties"])


class TestCheck:
    """What holds the bodies of deliveries against the contract."""

    def wrong(self, **changes: Any) -> str:
        event = example("user.created")
        body = {**event, "data": {**event["data"], **changes}}
        with pytest.raises(AssertionError) as raised:
            check_webhook(contract(), orjson.dumps(body))
        return str(raised.value)

    def test_names_a_member_that_is_not_in_the_contract(self) -> None:
        assert "user.created: data: Additional properties" in self.wrong(password="secret")

    def test_names_a_field_of_the_user_that_is_not_in_the_contract(self) -> None:
        user = {**example("user.created")["data"]["user"], "passwordHash": "x"}

        assert "user.created: data.user: Additional properties" in self.wrong(user=user)

    def test_names_a_member_that_has_another_type(self) -> None:
        assert "user.created: data.method: 1 is not of types" in self.wrong(method=1)

    def test_names_what_is_missing(self) -> None:
        event = example("user.created")
        data = {name: value for name, value in event["data"].items() if name != "actorId"}

        with pytest.raises(AssertionError, match='"actorId" is a required property'):
            check_webhook(contract(), orjson.dumps({**event, "data": data}))

    @pytest.mark.parametrize(
        ("body", "fault"),
        [
            (b"{", "no JSON"),
            (b"[]", "an event is an object"),
            (b'{"type":"user.vanished"}', "is no event of the contract"),
            (b"{}", "is no event of the contract"),
        ],
    )
    def test_names_what_is_no_event(self, body: bytes, fault: str) -> None:
        with pytest.raises(AssertionError, match=fault):
            check_webhook(contract(), body)

    def test_is_stricter_than_receivers_who_ignore_what_they_do_not_know(self) -> None:
        event = example("user.created")
        later = {**event, "data": {**event["data"], "new": True}}

        published = with_components(schemas(DOCUMENT_3_1)["user.created"], DOCUMENT_3_1)
        assert Draft202012Validator(published).is_valid(later)
