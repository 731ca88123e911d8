"""The bundle: one document, no references to files, never the same object twice."""

from pathlib import Path

import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


class TestBundle:
    def test_is_a_valid_document(self) -> None:
        validate(bundle(index=INDEX))

    def test_inlines_paths(self) -> None:
        document = bundle(index=INDEX)

        assert document["paths"]["/doors/{door}"]["get"]["operationId"] == "doors.get_one"
        assert document["paths"]["/open-doors"]["post"]["operationId"] == "doors.open_all"

    def test_keeps_components_as_references(self) -> None:
        document = bundle(index=INDEX)

        responses = document["paths"]["/open-doors"]["post"]["responses"]

        assert responses["404"] == {"$ref": "#/components/responses/NotFound"}
        assert responses["200"]["content"]["application/json"]["schema"]["items"] == {
            "$ref": "#/components/schemas/Door"
        }
        assert document["components"]["responses"]["NotFound"]["content"]["application/json"]["examples"] == {
            "NOT_FOUND": {"$ref": "#/components/examples/NOT_FOUND"}
        }
        assert document["components"]["schemas"]["Door"]["properties"]["frame"]["allOf"] == [
            {"$ref": "#/components/schemas/Frame"}
        ]

    def test_reads_an_unquoted_time_as_the_string_that_was_written(self) -> None:
        answer = bundle(index=INDEX)["paths"]["/doors/{door}"]["get"]["responses"]["200"]

        assert answer["content"]["application/json"]["example"]["openedAt"] == "2026-01-01T00:00:00.000Z"

    def test_gives_a_fresh_copy_every_time(self) -> None:
        bundle(index=INDEX)["paths"].clear()

        assert bundle(index=INDEX)["paths"]

    def test_names_a_reference_that_leads_nowhere(self, tmp_path: Path) -> None:
        (tmp_path / "paths.yaml").write_text("there: {get: {}}\n")
        (tmp_path / "openapi.yaml").write_text("paths: {/here: {$ref: 'paths.yaml#/here'}}\n")

        with pytest.raises(KeyError, match=r"paths\.yaml#/here leads nowhere"):
            bundle(index=tmp_path / "openapi.yaml")


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
