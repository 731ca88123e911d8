"""The bundle: one document, no references to files, never the same object twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.client_forms import client_forms
from codegen.links import without_links
from codegen.operation_ids import bare_ids, flat_ids
from codegen.requests_only import without_answers
from codegen.version_3_1 import to_3_1

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


DOCUMENT = bundle(index=INDEX)


class TestBundle:
    def test_is_a_valid_document(self) -> None:
        validate(DOCUMENT)

    def test_inlines_paths_and_keeps_components_as_references(self) -> None:
        paths, components = DOCUMENT["paths"], DOCUMENT["components"]
        responses = paths["/open-doors"]["post"]["responses"]

        assert paths["/doors/{door}"]["get"]["operationId"] == "doors.get_one"
        assert paths["/open-doors"]["post"]["operationId"] == "doors.open_all"
        assert responses["404"] == {"$ref": "#/components/responses/NotFound"}
        assert responses["200"]["content"]["application/json"]["schema"]["items"] == {
            "$ref": "#/components/schemas/Door"
        }
        assert components["responses"]["NotFound"]["content"]["application/json"]["examples"] == {
            "NOT_FOUND": {"$ref": "#/components/examples/NOT_FOUND"}
        }
        assert components["schemas"]["Door"]["properties"]["frame"]["allOf"] == [
            {"$ref": "#/components/schemas/Frame"}
        ]

    def test_reads_an_unquoted_time_as_the_string_that_was_written(self) -> None:
        answer = DOCUMENT["paths"]["/doors/{door}"]["get"]["responses"]["200"]

        assert answer["content"]["application/json"]["example"]["openedAt"] == "2026-01-01T00:00:00.000Z"

    def test_gives_a_fresh_copy_every_time(self) -> None:
        bundle(index=INDEX)["paths"].clear()

        assert bundle(index=INDEX)["paths"]

    def test_names_a_reference_that_leads_nowhere(self, tmp_path: Path) -> None:
        (tmp_path / "paths.yaml").write_text("there: {get: {}}\n")
        (tmp_path / "openapi.yaml").write_text("paths: {/here: {$ref: 'paths.yaml#/here'}}\n")

        with pytest.raises(KeyError, match=r"paths\.yaml#/here leads nowhere"):
            bundle(index=tmp_path / "openapi.yaml")


def test_what_an_operation_says_to_the_service_alone_is_in_the_internal_document_alone() -> None:
    doors = bundle(index=INDEX, internal=True)["paths"]["/doors/{door}"]

    assert doors["get"]["x-gatewright"] == {"answersHead": True}
    assert "x-gatewright" not in str(bundle(index=INDEX))


@pytest.mark.parametrize("change", [bare_ids, client_forms, flat_ids, to_3_1, without_answers, without_links])
def test_no_change_touches_the_document_it_is_given(change: Callable[[Any], Any]) -> None:
    document = bundle()

    change(document)

    assert document == bundle()


class TestComponents:
    """A capability may bring a file of its own under components/."""

    def bundled(self, folder: Path, **files: str) -> dict[str, Any]:
        (folder / "components").mkdir()
        for name, text in files.items():
            (folder / "components" / f"{name}.yaml").write_text(text)
        (folder / "paths.yaml").write_text(
            "keys: {get: {responses: {'200': {$ref: 'components/keys.yaml#/responses/Keys'}}}}"
        )
        (folder / "openapi.yaml").write_text("paths: {/keys: {$ref: 'paths.yaml#/keys'}}\n")
        return bundle(index=folder / "openapi.yaml")

    def test_a_file_of_another_name_than_a_section_has_sections_of_its_own(self, tmp_path: Path) -> None:
        document = self.bundled(
            tmp_path,
            schemas="Door: {type: object}",
            keys="""
                schemas:
                  Key: {properties: {door: {$ref: "schemas.yaml#/Door"}, twin: {$ref: "#/schemas/Key"}}}
                responses:
                  Keys: {description: The keys.}
            """,
        )

        assert document["paths"]["/keys"]["get"]["responses"]["200"] == {
            "$ref": "#/components/responses/Keys"
        }
        assert document["components"]["responses"] == {"Keys": {"description": "The keys."}}
        assert document["components"]["schemas"] == {
            "Door": {"type": "object"},
            "Key": {
                "properties": {
                    "door": {"$ref": "#/components/schemas/Door"},
                    "twin": {"$ref": "#/components/schemas/Key"},
                }
            },
        }

    def test_names_a_component_that_is_there_twice(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError, match=r"schemas\.yaml: there is another schemas/Key"):
            self.bundled(
                tmp_path,
                schemas="Key: {type: object}",
                keys="{schemas: {Key: {type: string}}, responses: {Keys: {description: K.}}}",
            )

    def test_names_what_is_no_section(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError, match=r"keys\.yaml: shemas is no section"):
            self.bundled(tmp_path, keys="{shemas: {}, responses: {Keys: {description: The keys.}}}")


class TestSettings:
    def test_cookies_carry_their_configured_names(self) -> None:
        schemes = bundle(index=INDEX, cookie_name="__Host-sid", pending_cookie="__Host-2fa")["components"][
            "securitySchemes"
        ]

        assert schemes["cookieAuth"]["name"] == "__Host-sid"
        assert schemes["pendingCookieAuth"]["name"] == "__Host-2fa"

    def test_the_default_server_is_the_root(self) -> None:
        assert bundle(index=INDEX)["servers"] == [{"url": "/"}]

    def test_the_server_is_the_base_path(self) -> None:
        assert bundle(index=INDEX, base_path="/api/auth")["servers"] == [{"url": "/api/auth"}]
