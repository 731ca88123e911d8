"""Schemas that stand alone."""

from pathlib import Path

from jsonschema_rs import Draft202012Validator

from codegen.bundle import bundle
from codegen.version_3_1 import to_3_1
from tests.contract.json_schemas import stand_alone

INDEX = Path(__file__).parents[1] / "codegen" / "contract" / "openapi.yaml"


def test_carry_what_they_need_and_nothing_else() -> None:
    schema = stand_alone({"$ref": "#/components/schemas/Door"}, to_3_1(bundle(index=INDEX)))

    assert set(schema["components"]["schemas"]) == {"Door", "Frame"}


def test_validate() -> None:
    validator = Draft202012Validator(
        stand_alone({"$ref": "#/components/schemas/Door"}, to_3_1(bundle(index=INDEX)))
    )

    assert validator.is_valid({"id": "front", "openedAt": None, "width": 1, "frame": {"wood": "oak"}})
    assert not validator.is_valid({"id": "front", "openedAt": None, "width": 1, "frame": {}})
