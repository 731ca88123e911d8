"""The page about adding a capability, carried out in a copy of the project."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from codegen.catalogs import LANGUAGES
from tests.docs.typing_in import PAGES, commands, surroundings, write_files
from tests.live import ROOT
from tests.postgres import Cluster

NEWEST = max(path.name[:4] for path in (ROOT / "models/migrations/versions").glob("[0-9]*.py"))
"""The number of the newest migration."""


def with_next_migration(page: str) -> str:
    """Return the page with the number that its migration has after those of today."""
    revision, former = re.findall(r'revision = "(\d{4})"', page)
    return page.replace(revision, f"{int(NEWEST) + 1:04}").replace(former, NEWEST)


PAGE = with_next_migration((PAGES / "contributing" / "add-a-capability.md").read_text("utf-8"))

PYTEST = ".venv/bin/python -m pytest"
"""Without workers: each of them would import the whole project for two files of tests."""

GENERATED = {
    "handlers/shapes.py",
    "docs/pages/guides/customize-emails.md",
    "docs/pages/reference/settings.md",
    *(f"domain/locales/{language}.po" for language in LANGUAGES),
}
"""What `make types`, `make reference` and `make translations` write."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, in which the page was followed up to the generated files."""
    directory = tmp_path_factory.mktemp("capability") / "project"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            place = directory / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((ROOT / name).read_bytes())
            place.chmod((ROOT / name).stat().st_mode)
    (directory / ".venv").symlink_to(ROOT / ".venv")
    if (ROOT / ".mypy_cache").exists():
        # What mypy knows of the files that stay as they are spares it half a minute.
        shutil.copytree(ROOT / ".mypy_cache", directory / ".mypy_cache")
    git(directory, "init", "--quiet")
    git(directory, "add", "--all")
    write_files(PAGE, directory)
    typed(directory, commands(PAGE, "apply"))
    (directory / "edits.diff").unlink()
    typed(directory, commands(PAGE, "generate"))
    typed(directory, commands(PAGE, "translate"))
    (directory / "translations.diff").unlink()
    return directory


def git(directory: Path, *arguments: str) -> str:
    """Run git; return what it printed."""
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def typed(directory: Path, commands: str, **variables: str) -> None:
    """Run commands in the copy, with the packages that are installed already."""
    done = subprocess.run(
        [
            "bash",
            "-euo",
            "pipefail",
            "-c",
            commands.replace("make ", f"make -o .venv/installed PYTEST='{PYTEST}' "),
        ],
        cwd=directory,
        env=surroundings({"PYTHONPATH": str(directory), **variables}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_edits_two_files(project: Path) -> None:
    changed = set(git(project, "diff", "--name-only").split()) - GENERATED

    assert len(changed) == 2


def test_its_operations_work(project: Path, cluster: Cluster) -> None:
    typed(project, commands(PAGE, "test"), GATEWRIGHT_TEST_POSTGRES=cluster.url())


def test_it_keeps_the_import_law(project: Path) -> None:
    typed(
        project, ".venv/bin/lint-imports --no-cache; .venv/bin/ruff check .; .venv/bin/ruff format --check ."
    )


@pytest.mark.skipif("GATEWRIGHT_LONG" not in os.environ, reason="takes a minute of both processors")
def test_it_keeps_every_rule(project: Path) -> None:
    typed(project, commands(PAGE, "check"))
