"""The templates of the pages as files: `gatewright pages export`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from handlers.pages.environment import TEMPLATES
from server.config.groups.pages import PagesSettings
from server.services import load_settings
from tests.server.terminal import Run, complaint


@pytest.fixture
def command_settings() -> Mapping[str, str]:
    """The export needs no settings."""
    return {}


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_writes_all_templates_and_the_service_starts_with_them(run: Run, tmp_path: Path) -> None:
    done = run("pages", "export", "new/templates")

    assert done.exit_code == 0
    assert files(tmp_path / "new" / "templates") == files(TEMPLATES)
    environ = {
        "GATEWRIGHT_PROFILE": "development",
        "GATEWRIGHT_PAGES__TEMPLATES_DIR": str(tmp_path / "new" / "templates"),
    }
    assert load_settings(environ, tmp_path)[PagesSettings].templates_dir == tmp_path / "new" / "templates"


def test_writes_only_the_named_ones(run: Run, tmp_path: Path) -> None:
    run("pages", "export", "templates", "--template", "sign_in.html", "--template", "account/profile.html")

    assert sorted(files(tmp_path / "templates")) == ["account/profile.html", "sign_in.html"]


@pytest.mark.parametrize(
    ("words", "answer", "replaced"),
    [([], "", False), ([], "n\n", False), ([], "y\n", True), (["--yes"], "", True)],
)
def test_replaces_files_only_after_a_confirmation(
    run: Run, tmp_path: Path, words: list[str], answer: str, replaced: bool
) -> None:
    (tmp_path / "sign_in.html").write_text("mine")

    done = run("pages", "export", str(tmp_path), *words, stdin=answer)

    assert done.exit_code == (0 if replaced else 1)
    assert ((tmp_path / "sign_in.html").read_text() != "mine") == replaced
    assert (tmp_path / "base.html").exists() == replaced


def test_says_which_templates_there_are(run: Run, tmp_path: Path) -> None:
    done = run("pages", "export", "templates", "--template", "sign-in.html")

    assert done.exit_code == 1
    assert complaint(done.stderr).startswith("no template is called sign-in.html; there are account/")
    assert not (tmp_path / "templates").exists()


def test_says_why_a_folder_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = run("pages", "export", "file")

    assert done.exit_code == 1
    assert "Not a directory" in complaint(done.stderr) or "File exists" in complaint(done.stderr)
