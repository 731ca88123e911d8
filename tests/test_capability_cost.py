"""The number of files that a capability edits, counted in small repositories."""

import subprocess
from pathlib import Path

import pytest

from tests.capability_cost import Cost, measure, report

LINES = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, tagged `base`."""
    git(tmp_path, "init", "--quiet")
    for name in (
        *("domain/context.py", "domain/gone.py", "domain/moved.py", "domain/untouched.py"),
        *("domain/webhook.py", "docs/pages/guides/web-hooks.md", "handlers/shapes.py"),
        *("domain/locales/de.po", "tests/conftest.py"),
    ):
        write(tmp_path, name, LINES)
    commit(tmp_path)
    git(tmp_path, "tag", "base")
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Change something")


class TestMeasure:
    def test_counts_existing_files_that_are_edited_moved_or_deleted(self, repository: Path) -> None:
        write(repository, "domain/context.py", f"{LINES}more\n")
        (repository / "domain/gone.py").unlink()
        (repository / "domain/moved.py").rename(repository / "domain/elsewhere.py")
        commit(repository)

        cost = measure("base..HEAD", ["webhooks"], repository)

        assert cost == Cost(("domain/context.py", "domain/gone.py", "domain/moved.py"), (), 0)

    def test_counts_no_file_that_the_range_added_nor_one_named_for_the_capability(
        self, repository: Path
    ) -> None:
        write(repository, "domain/webhook.py", f"{LINES}more\n")
        write(repository, "domain/signatures.py", "first\n")
        commit(repository)
        write(repository, "domain/signatures.py", "second\n")
        commit(repository)

        assert measure("base..HEAD", ["webhooks"], repository) == Cost((), (), 1)

    def test_a_name_is_found_with_hyphens_and_several_names_count(self, repository: Path) -> None:
        write(repository, "docs/pages/guides/web-hooks.md", f"{LINES}more\n")
        write(repository, "domain/context.py", f"{LINES}more\n")
        commit(repository)

        assert measure("base..HEAD", ["web_hooks", "contexts"], repository) == Cost((), (), 0)

    def test_lists_generated_files_apart_and_leaves_tests_out(self, repository: Path) -> None:
        for name in ("handlers/shapes.py", "domain/locales/de.po", "tests/conftest.py"):
            write(repository, name, f"{LINES}more\n")
        write(repository, "tests/handlers/test_webhooks.py", "first\n")
        commit(repository)

        cost = measure("base..HEAD", ["webhooks"], repository)

        assert cost == Cost((), ("domain/locales/de.po", "handlers/shapes.py"), 0)

    def test_refuses_commits_that_do_not_exist(self, repository: Path) -> None:
        with pytest.raises(subprocess.CalledProcessError):
            measure("base..nowhere", ["webhooks"], repository)


def test_the_report_names_every_file() -> None:
    shown = report(Cost(("domain/context.py",), ("handlers/shapes.py",), 7)).splitlines()

    assert shown == [
        "1 existing files edited (goal: at most 10), 7 files added",
        "  domain/context.py",
        "1 generated files",
        "  handlers/shapes.py",
    ]
