"""The generated TypedDicts."""

from pathlib import Path

from codegen.bundle import bundle
from codegen.shapes import SHAPES, main, shapes

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


class TestShapes:
    def test_are_typed_dicts_named_like_their_schemas(self) -> None:
        source = shapes(bundle(index=INDEX))

        assert "class OpenDoorsRequest(TypedDict):\n    colour: NotRequired[str]\n    callbackURL:" in source
        assert '    """One door."""' in source

    def test_times_are_strings_and_null_is_a_type(self) -> None:
        assert "    openedAt: str | None\n" in shapes(bundle(index=INDEX))

    def test_say_that_they_are_generated(self) -> None:
        assert shapes(bundle(index=INDEX)).startswith('"""GENERATED')

    def test_are_the_same_every_time(self) -> None:
        assert shapes(bundle(index=INDEX)) == shapes(bundle(index=INDEX))


class TestCommand:
    def test_the_file_in_the_tree_is_fresh(self) -> None:
        assert main(["--check"], target=SHAPES) == 0

    def test_check_reports_a_stale_file_and_leaves_it(self, tmp_path: Path) -> None:
        stale = tmp_path / "shapes.py"
        stale.write_text("stale")

        assert main(["--check"], target=stale) == 1
        assert stale.read_text() == "stale"

    def test_writes_what_check_accepts(self, tmp_path: Path) -> None:
        target = tmp_path / "shapes.py"

        assert main([], target=target) == 0
        assert main(["--check"], target=target) == 0
