"""The generated TypedDicts."""

from pathlib import Path

from codegen.shapes import SHAPES, main


def test_check_reports_a_stale_file_and_accepts_what_is_written(tmp_path: Path) -> None:
    target = tmp_path / "shapes.py"
    target.write_text("stale")

    assert main(["--check"], target=target) == 1
    assert target.read_text() == "stale"
    assert main([], target=target) == 0
    assert main(["--check"], target=target) == 0
    written = target.read_text("utf-8")
    assert written == SHAPES.read_text("utf-8")
    assert written.startswith('"""GENERATED')
    assert "class SignInEmailRequest(TypedDict):\n" in written
    assert "    callbackURL: NotRequired[str]\n" in written
    assert "    banExpires: str | None\n" in written
