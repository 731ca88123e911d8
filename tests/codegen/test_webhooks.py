"""The events of webhooks in the bundled document, and what other forms of the document make of them."""

from pathlib import Path
from typing import Any

import pytest

from codegen.bundle import bundle
from codegen.client_forms import client_forms
from codegen.python_events import module
from codegen.requests_only import without_answers
from codegen.shapes import shapes
from codegen.version_3_1 import to_3_1
from codegen.webhooks import EVENT, requests, schemas, with_types_only, without_webhooks

SHARED = """
schemas:
  Door: {type: object}
parameters:
  Signature: {name: signature, in: header, schema: {type: string}}
"""
DOORS = """
x-event: &event
  parameters: [{$ref: ../components/shared.yaml#/parameters/Signature}]
webhooks:
  door.opened:
    post:
      <<: *event
      requestBody: {content: {application/json: {schema: {$ref: "#/schemas/DoorOpened"}}}}
schemas:
  DoorOpened:
    type: object
    properties:
      type: {enum: [door.opened]}
      door: {$ref: ../components/shared.yaml#/schemas/Door}
      by: {type: string, nullable: true}
"""
INDEX = "{openapi: 3.0.3, paths: {}, components: {}}"


def bundled(folder: Path, **files: str) -> dict[str, Any]:
    (folder / "webhooks").mkdir()
    (folder / "components").mkdir()
    (folder / "openapi.yaml").write_text(INDEX)
    (folder / "components" / "shared.yaml").write_text(SHARED)
    for name, text in files.items():
        (folder / "webhooks" / f"{name}.yaml").write_text(text)
    return bundle(index=folder / "openapi.yaml")


class TestBundle:
    """A capability brings its events in a file of its own under webhooks/."""

    def test_collects_events_and_their_schemas(self, tmp_path: Path) -> None:
        document = bundled(
            tmp_path, doors=DOORS, gates=DOORS.replace("door.", "gate.").replace("DoorO", "GateO")
        )

        assert list(document["x-webhooks"]) == ["door.opened", "gate.opened"]
        assert schemas(document)["door.opened"] == {"$ref": "#/components/schemas/DoorOpened"}
        assert requests(document)["door.opened"]["parameters"] == [
            {"$ref": "#/components/parameters/Signature"}
        ]
        assert list(document["components"]["schemas"]) == ["Door", "DoorOpened", "GateOpened"]

    def test_names_an_event_that_is_there_twice(self, tmp_path: Path) -> None:
        twin = DOORS.replace("DoorOpened", "DoorOpenedAgain")

        with pytest.raises(KeyError, match=r"twins\.yaml: there is another webhooks/door\.opened"):
            bundled(tmp_path, doors=DOORS, twins=twin)

    def test_names_what_is_no_section(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError, match=r"doors\.yaml: shemas is not a section"):
            bundled(tmp_path, doors="{webhooks: {}, shemas: {}}")


def test_are_webhooks_in_version_3_1(tmp_path: Path) -> None:
    document = to_3_1(bundled(tmp_path, doors=DOORS))

    assert "x-webhooks" not in document
    assert list(document["webhooks"]) == ["door.opened"]
    assert document["components"]["schemas"]["DoorOpened"]["properties"]["by"] == {"type": ["string", "null"]}


def test_generators_get_the_schemas_of_events_instead_and_one_of_all(tmp_path: Path) -> None:
    document = with_types_only(bundled(tmp_path, doors=DOORS), union=True)

    reference = "#/components/schemas/DoorOpened"
    assert "x-webhooks" not in document
    assert document["components"]["schemas"]["WebhookEvent"]["oneOf"] == [{"$ref": reference}]
    assert document["components"]["schemas"]["WebhookEvent"]["discriminator"] == {
        "propertyName": "type",
        "mapping": {"door.opened": reference},
    }
    assert {"Door", "DoorOpened"} < set(document["components"]["schemas"])
    assert document["components"]["parameters"] == {}


def test_only_the_generators_of_the_sdks_get_the_schema_of_all() -> None:
    assert EVENT in client_forms(bundle(), event_union=True)["components"]["schemas"]
    assert EVENT not in client_forms(bundle())["components"]["schemas"]
    assert "UserCreatedEvent" in client_forms(bundle())["components"]["schemas"]


def test_the_service_reads_none_of_it(tmp_path: Path) -> None:
    document = without_webhooks(bundled(tmp_path, doors=DOORS))

    assert document["components"] == {"schemas": {}, "parameters": {}}
    assert "x-webhooks" not in document
    assert "x-webhooks" not in without_answers(bundle())
    assert "UserCreatedEvent" not in shapes(bundle())


def test_the_module_of_the_python_sdk_knows_every_event() -> None:
    source = module(to_3_1(client_forms(bundle(), event_union=True)))

    assert compile(source, "webhooks.py", "exec")
    for name, schema in schemas(bundle()).items():
        assert f'    "{name}": {schema["$ref"].rpartition("/")[2]},\n' in source
