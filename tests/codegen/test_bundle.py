"""The bundle: one document, no references to files, never the same object twice."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegen.bundle import FOLDER, INDEX, bundle, forms
from codegen.client_forms import client_forms
from codegen.links import without_links
from codegen.operation_ids import bare_ids, flat_ids
from codegen.requests_only import without_answers
from codegen.version_3_1 import to_3_1


def test_every_call_gives_a_fresh_copy() -> None:
    bundle()["paths"].clear()

    assert bundle()["paths"]


def test_what_an_operation_says_to_the_service_alone_is_in_the_internal_document_alone() -> None:
    assert "x-gatewright" in bundle(internal=True)["paths"]["/ok"]["get"]
    assert "x-gatewright" not in str(bundle())


def test_a_reference_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "paths.yaml").write_text("there: {get: {}}\n")
    (tmp_path / "openapi.yaml").write_text("paths: {/here: {$ref: 'paths.yaml#/here'}}\n")

    with pytest.raises(KeyError, match=r"paths\.yaml#/here leads nowhere"):
        bundle(index=tmp_path / "openapi.yaml")


@pytest.mark.parametrize("change", [bare_ids, client_forms, flat_ids, to_3_1, without_answers, without_links])
def test_no_change_touches_the_document_it_is_given(change: Callable[[Any], Any]) -> None:
    document = bundle()

    change(document)

    assert document == bundle()


class TestSavedBundle:
    """A start reads what another one saved, unless the contract's files have changed since."""

    def names(self, index: Path) -> list[str]:
        """Return the names of the operations as a new process reads them."""
        program = f"from codegen.bundle import *; print(*bundle(index=Path({str(index)!r}))['paths'])"
        command = [sys.executable, "-c", program]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    def write(self, index: Path, *paths: str) -> Path:
        index.write_text("components: {}\npaths:\n" + "".join(f"  {path}: {{}}\n" for path in paths))
        return index

    @pytest.mark.parametrize("form", ["contract", "requests"])
    def test_the_saved_contract_is_what_its_files_say(self, form: str) -> None:
        bundle(requests_only=form == "requests")

        assert (INDEX.parent / FOLDER / f"{form}.json").read_bytes() == forms(INDEX)[form]

    def test_a_changed_file_is_noticed(self, tmp_path: Path) -> None:
        index = self.write(tmp_path / "openapi.yaml", "/one")
        before = self.names(index)
        saved = (tmp_path / FOLDER / "contract.json").read_text()
        self.write(index, "/one", "/two")

        assert (before, self.names(index)) == (["/one"], ["/one", "/two"])
        assert (tmp_path / FOLDER / "contract.json").read_text() != saved

    def test_where_nothing_can_be_saved_the_files_are_read_each_time(self, tmp_path: Path) -> None:
        index = self.write(tmp_path / "openapi.yaml", "/one")
        (tmp_path / FOLDER).write_text("")

        assert self.names(index) == ["/one"]

    @pytest.mark.parametrize("damage", [b"", b"{}", b"0000\n{}"])
    def test_a_damaged_bundle_is_not_used(self, damage: bytes, tmp_path: Path) -> None:
        index = self.write(tmp_path / "openapi.yaml", "/one")
        self.names(index)
        (tmp_path / FOLDER / "contract.json").write_bytes(damage)

        assert self.names(index) == ["/one"]


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
            schemas="Door: {type: object, example: 2026-01-01T00:00:00.000Z}",
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
            # A time without quotes is the string that was written.
            "Door": {"type": "object", "example": "2026-01-01T00:00:00.000Z"},
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
        with pytest.raises(KeyError, match=r"keys\.yaml: shemas is not a section"):
            self.bundled(tmp_path, keys="{shemas: {}, responses: {Keys: {description: The keys.}}}")


def test_cookies_and_server_are_those_of_the_settings() -> None:
    chosen = bundle(cookie_name="__Host-sid", pending_cookie="__Host-2fa", base_path="/api/auth")

    schemes = chosen["components"]["securitySchemes"]
    assert (schemes["cookieAuth"]["name"], schemes["pendingCookieAuth"]["name"]) == (
        "__Host-sid",
        "__Host-2fa",
    )
    assert chosen["servers"] == [{"url": "/api/auth"}]
    assert bundle()["servers"] == [{"url": "/"}]


def test_error_codes_are_those_of_the_examples_of_errors(tmp_path: Path) -> None:
    (tmp_path / "components").mkdir()
    (tmp_path / "components" / "schemas.yaml").write_text("ErrorCode: {enum: [LISTED]}\n")
    (tmp_path / "components" / "examples.yaml").write_text("SHARED: {value: {code: SHARED}}\n")
    (tmp_path / "openapi.yaml").write_text(
        """
        paths:
          /keys:
            get:
              responses:
                "200": {content: {application/json: {example: {code: NONE}}}}
                "401": {content: {application/json: {example: {code: SINGLE}}}}
                "404":
                  content:
                    application/json:
                      examples:
                        INLINE: {value: {code: INLINE}}
                        SHARED: {$ref: 'components/examples.yaml#/SHARED'}
        """
    )

    codes = bundle(index=tmp_path / "openapi.yaml")["components"]["schemas"]["ErrorCode"]["enum"]

    assert codes == ["INLINE", "LISTED", "SHARED", "SINGLE"]
