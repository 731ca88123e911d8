"""The releases that an upgrade is tested from, and their programs."""

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.live import PROGRAM, ROOT

PACKAGES = ("codegen", "domain", "handlers", "models", "openapi", "server")
_BUILD = ROOT / "build" / "releases"


@dataclass(frozen=True)
class Release:
    """A release, by its tag or commit, and what a service of it was configured with."""

    name: str
    commit: str
    """The tag, or the commit of a version that has none."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings under the names that it knows them by."""
    requirements: tuple[str, ...] = ()
    """Packages that it needs and the present program does not."""


_SETTINGS = {
    "magic_links.enabled": "true",
    "magic_links.page": "http://localhost:8000/confirm",
    "email_codes.enabled": "true",
    "email_codes.expires_in": "10m",
    "passkey.challenge_expires_in": "10m",
    "api_keys.kinds": '{"team": {"references": "organization"}}',
}

RELEASES = (
    Release(
        "c0c1ff1",
        "c0c1ff1c4c5d6f83754b3eab5a6fa3837b278e49",
        requirements=("swagger-ui-bundle==1.1.0",),
    ),
    Release(
        "f5217fe",
        "f5217fea",
        settings={
            "magic_link.enabled": "true",
            "magic_link.page": "http://localhost:8000/confirm",
            "email_otp.enabled": "true",
            "email_otp.expires_in": "10m",
            "passkey.challenge_expires_in": "10m",
        },
        requirements=("flask-swagger-ui==5.34.0",),
    ),
    Release("0.2.0", "ea0c5190", settings=_SETTINGS),
)
"""All releases, the oldest first: two versions from before the first release, and what becomes 0.2.0.

A new release is one more entry, with its tag.
"""


class NotFound(Exception):
    """The repository does not contain a release, as in a shallow clone."""


def program_of(release: Release) -> Path:
    """Return the program of a release, in a folder with its files that is created at the first use. Raises NotFound."""
    directory = _BUILD / _commit(release)
    if not directory.is_dir():
        _BUILD.mkdir(parents=True, exist_ok=True)
        # An interrupted attempt must not look like a complete one.
        draft = Path(tempfile.mkdtemp(dir=_BUILD))
        _extract(release, draft)
        _pip_install(release.requirements, draft)
        _write_program(release, draft / PROGRAM.name)
        draft.rename(directory)
    return directory / PROGRAM.name


def revision_of(release: Release) -> str:
    """Return the newest revision of the database schema that a release knows. Raises NotFound."""
    versions = program_of(release).parent / "models" / "migrations" / "versions"
    return max(file.name for file in versions.glob("[0-9]*.py")).partition("_")[0]


def show(release: Release, path: str) -> str:
    """Return a file of a release. Raises NotFound."""
    return _git("show", f"{_commit(release)}:{path}").decode()


def _commit(release: Release) -> str:
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{release.commit}^{{commit}}").decode().strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotFound(f"{release.commit} of {release.name} is not in this repository") from error


def _extract(release: Release, directory: Path) -> None:
    archive = _git("archive", release.commit, *PACKAGES)
    subprocess.run(["tar", "-x"], cwd=directory, input=archive, check=True)


def _write_program(release: Release, program: Path) -> None:
    """Write the script that an installation creates; Python finds the packages next to it."""
    script = tomllib.loads(show(release, "pyproject.toml"))["project"]["scripts"][PROGRAM.name]
    module, _, function = script.partition(":")
    program.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
    program.chmod(0o755)


def _pip_install(requirements: tuple[str, ...], directory: Path) -> None:
    if requirements:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-input"]
        subprocess.run([*pip, "--target", directory, *requirements], check=True)


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout
