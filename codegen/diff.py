"""Compare two versions of the contract: `python -m codegen.diff BASE` fails if clients of BASE would break.

oasdiff finds breaking changes, with the exceptions in oasdiff-levels.txt. They are allowed only with a new major
version in `info.version`: within a major version there are only additions (openapi/openapi.yaml, "Versions").
"""

import argparse
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import orjson

from codegen.bundle import INDEX, bundle
from codegen.links import without_links
from codegen.walk import operations

Document = dict[str, Any]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The contract allows new error codes as additions. Operation ids are checked, as SDKs name methods after them.
LEVELS = HERE / "oasdiff-levels.txt"
OPEN = "no sign-in"
"""Listed as a way to authenticate if none is required, so that its removal is detected."""
BREAKING = 1
"""The exit status of oasdiff for breaking changes."""


class UnusableError(Exception):
    """An input that is missing or is not an OpenAPI document; the message names it."""


def compare(base: Document, revision: Document, program: str) -> tuple[bool, str]:
    """Return whether `revision` breaks clients of `base`, and oasdiff's report, for people.

    `program` is the path of oasdiff. Raises UnusableError with its message if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("base.json", "revision.json")]
        for file, document in zip(files, (base, revision), strict=True):
            file.write_bytes(orjson.dumps(_with_security(document)))
        options = ("--fail-on", "ERR", "--severity-levels", LEVELS, "--color", "never")
        finished = _run(program, "breaking", *options, *files)
    if finished.returncode not in {0, BREAKING}:
        raise UnusableError(finished.stderr.decode().strip())
    return finished.returncode == BREAKING, finished.stdout.decode().replace(f"{folder}/", "").strip()


def verdict(base: str, revision: str, *, breaks: bool) -> str | None:
    """Return the error in the new `info.version`, given whether the change breaks clients; None if it is correct."""
    before, after = _numbers(base), _numbers(revision)
    if after < before:
        return f"info.version went back from {base} to {revision}"
    if breaks and after[0] == before[0]:
        return f"these changes break clients of {base}: info.version must become {before[0] + 1}.0.0, and is {revision}"
    return None


def read(base: str) -> Document:
    """Return the document in a file as `gatewright openapi` prints it, or else the contract at a commit, branch or
    tag.

    Raises UnusableError.
    """
    if Path(base).is_file():
        try:
            document: Document = orjson.loads(Path(base).read_bytes())
        except orjson.JSONDecodeError as fault:
            raise UnusableError(f"{base} is not JSON, as `gatewright openapi` prints it: {fault}") from fault
    else:
        document = _at_commit(base)
    if not isinstance(document, dict) or "version" not in document.get("info", {}) or "paths" not in document:
        raise UnusableError(f"{base} is not an OpenAPI document: it has no info.version, or no paths")
    return without_links(document)


def _with_security(document: Document) -> Document:
    """Return a copy in which each operation lists every way to authenticate: oasdiff compares only those lists."""
    document = orjson.loads(orjson.dumps(document))
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes[OPEN] = {"type": "http", "scheme": "none"}
    for operation in operations(document):
        ways = operation.spec.get("security", document.get("security", []))
        is_open = not ways or {} in ways
        operation.spec["security"] = [{name: []} for name in schemes] if is_open else ways
    return document


def _at_commit(name: str) -> Document:
    commit = _run("git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit.returncode != 0:
        raise UnusableError(f"{name} is neither a file nor a commit, branch or tag")
    archive = _run("git", "archive", "--format=zip", commit.stdout.decode().strip(), "openapi")
    if archive.returncode != 0:
        raise UnusableError(f"at {name} there is no contract: {archive.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
        files.extractall(folder)
        return bundle(index=Path(folder) / "openapi" / INDEX.name)


def _run(*command: str | Path) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False)  # noqa: S603 - no shell, our own arguments


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without a suffix after hyphen or plus. Raises UnusableError."""
    numbers = version.partition("+")[0].partition("-")[0].split(".")
    if len(numbers) != 3 or not all(number.isdecimal() for number in numbers):
        raise UnusableError(f"info.version is {version}, and not of the form 1.2.3")
    return tuple(map(int, numbers))


def main() -> int:
    """Compare two contracts and print the report; return 0 if the new one may be published, 1 if not, 2 on errors."""
    parser = argparse.ArgumentParser(prog="python -m codegen.diff", description=__doc__)
    parser.add_argument("base", help="a file, or a commit, branch or tag of this repository")
    parser.add_argument(
        "--revision", help="the same for the new version; the contract of this folder unless given"
    )
    parser.add_argument(
        "--oasdiff", required=True, help="the program to compare with, as .ci/oasdiff.sh finds it"
    )
    given = parser.parse_args()
    try:
        base = read(given.base)
        revision = read(given.revision) if given.revision else without_links(bundle())
        versions = (base["info"]["version"], revision["info"]["version"])
        breaks, changes = compare(base, revision, given.oasdiff)
        wrong = verdict(*versions, breaks=breaks)
    except (UnusableError, OSError) as fault:
        print(fault, file=sys.stderr)
        return 2
    print(changes or "Nothing breaks.")
    print(f"FAILED: {wrong}" if wrong else f"May be published: {versions[0]} becomes {versions[1]}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
