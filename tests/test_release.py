"""The version and the changelogs of a release agree."""

import datetime as dt
import re
import subprocess
import tomllib
from importlib.metadata import version
from typing import NamedTuple

import pytest
import yaml
from packaging.version import Version

from tests.live import PROGRAM, ROOT

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
CHANGELOG, DOCUMENT_CHANGELOG = "CHANGELOG.md", "openapi/CHANGELOG.md"
SECTIONS = {"Upgrade notes", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


class Release(NamedTuple):
    """A release of a changelog."""

    version: str
    date: str


def releases(file: str) -> list[Release]:
    """Return the releases of a changelog, from the top."""
    headings = re.findall(r"^## (.+)$", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert headings.pop(0) == "[Unreleased]"
    found = [re.fullmatch(r"\[([\d.]+)\] - (\S+)", heading) for heading in headings]
    return [Release(*match.groups()) for match in found if match]


def test_the_program_has_the_version_of_the_newest_release() -> None:
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout

    assert printed == f"gatewright {DECLARED}\n"
    assert version("gatewright") == DECLARED == releases(CHANGELOG)[0].version


def test_the_documentation_names_the_wheel_of_the_newest_release() -> None:
    named = re.findall(r"gatewright-([\d.]+)-py3-none-any\.whl", (ROOT / "README.md").read_text("utf-8"))

    assert set(named) == {DECLARED}


def test_the_openapi_document_has_the_version_of_its_changelog() -> None:
    index = yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text("utf-8"))

    assert index["info"]["version"] == releases(DOCUMENT_CHANGELOG)[0].version


@pytest.mark.parametrize("file", [CHANGELOG, DOCUMENT_CHANGELOG])
def test_a_changelog_has_its_releases_in_order(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    found = releases(file)

    assert len(found) == text.count("\n## ") - 1, "a heading has not the form `## [1.2.3] - 2026-01-31`"
    versions = [Version(release.version) for release in found]
    dates = [dt.date.fromisoformat(release.date) for release in found]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_the_changelog_has_no_other_sections_than_those_of_its_format() -> None:
    headings = re.findall(r"^### (.+)$", (ROOT / CHANGELOG).read_text("utf-8"), re.MULTILINE)

    assert set(headings) <= SECTIONS
