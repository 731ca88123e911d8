"""What other people's tools say of the published document, in both forms: nothing, but for what is explained here."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from codegen.bundle import bundle
from codegen.links import without_links
from codegen.operation_ids import flat_ids
from codegen.version_3_1 import to_3_1

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "linters"
BUILD = ROOT / "build" / "linters"
GENERATOR = ROOT / "build" / "sdk" / ".tools" / "others" / "bin" / "openapi-generator-cli"
TIME_LIMIT = 300.0

EXPLAINED = {
    # Answers a method that no operation has, and so belongs to none; it is written down all the same.
    ("oas3-unused-component", "components.responses.MethodNotAllowed"),
    ("no-unused-components", "#/components/responses/MethodNotAllowed"),
    # A provider sends a browser there; whatever happens, it is led on (behaviour 7.3).
    ("operation-2xx-response", "#/paths/~1callback~1{provider}/get/responses"),
    ("operation-2xx-response", "#/paths/~1callback~1{provider}/post/responses"),
}
"""Rule and place of the warnings that stay."""


@pytest.fixture(scope="module")
def linters() -> Path:
    """The folder with the tools, installed once."""
    assert shutil.which("npm"), (
        "Node.js 20 or newer with npm is needed: on Debian, apt-get install nodejs npm"
    )
    BUILD.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_bytes()
    if not (BUILD / "node_modules").exists() or (BUILD / "package.json").read_bytes() != wanted:
        (BUILD / "package.json").write_bytes(wanted)
        run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", where=BUILD)
    shutil.copy(HERE / "spectral.yaml", BUILD)
    return BUILD


@pytest.fixture(scope="module", params=["3.0", "3.1"])
def document(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document as it is published."""
    published = flat_ids(without_links(bundle()))
    file = tmp_path_factory.mktemp("published") / "openapi.json"
    file.write_bytes(orjson.dumps(to_3_1(published) if request.param == "3.1" else published))
    return file


def run(*command: str | Path, where: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=where,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )


def reported(finished: "subprocess.CompletedProcess[str]", opening: str) -> Any:
    """Give the JSON report in what a tool printed. Raises AssertionError with all of it when there is none."""
    begin = finished.stdout.find(opening)
    assert begin >= 0, finished.stdout + finished.stderr
    return json.JSONDecoder().raw_decode(finished.stdout[begin:])[0]


def test_spectral_recommended(linters: Path, document: Path) -> None:
    finished = run(
        "npx", "spectral", "lint", "--format", "json", "--ruleset", "spectral.yaml", document, where=linters
    )

    found = {(problem["code"], ".".join(problem["path"])) for problem in reported(finished, "[")}
    assert found - EXPLAINED == set()


def test_redocly_recommended(linters: Path, document: Path) -> None:
    options = ("--extends", "recommended", "--format", "json")
    finished = run("npx", "redocly", "lint", *options, document, where=linters)

    problems = reported(finished, "{")["problems"]
    found = {(problem["ruleId"], problem["location"][0]["pointer"]) for problem in problems}
    assert found - EXPLAINED == set()


def test_openapi_generator_validates(document: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed, so openapi-generator cannot run")
    run(ROOT / ".ci" / "sdk.sh", "go").check_returncode()

    finished = run(GENERATOR, "validate", "--input-spec", document)

    assert finished.returncode == 0, finished.stdout + finished.stderr
