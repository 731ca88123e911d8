"""The generated TypedDicts."""

from pathlib import Path

from codegen.bundle import bundle
from codegen.shapes import SHAPES, main, shapes

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


def test_they_are_typed_dicts_named_like_their_schemas() -> None:
    source = shapes(bundle(index=INDEX))

    assert source.startswith('"""GENERATED')
    assert "class OpenDoorsRequest(TypedDict):\n    colour: NotRequired[str]\n    callbackURL:" in source
    assert '    """One door."""' in source
    assert "    openedAt: str | None\n" in source


def test_check_reports_a_stale_file_and_accepts_what_is_written(tmp_path: Path) -> None:
    target = tmp_path / "shapes.py"
    target.write_text("stale")

    assert main(["--check"], target=target) == 1
    assert target.read_text() == "stale"
    assert main([], target=target) == 0
    assert main(["--check"], target=target) == 0
    assert target.read_text("utf-8") == SHAPES.read_text("utf-8")
