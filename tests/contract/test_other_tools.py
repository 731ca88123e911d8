"""What other people's tools say of the published document, in both forms: nothing, but for what is explained here.

docs/pages/reference/tools.md says the same for readers, and names the versions.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from codegen.bundle import bundle
from codegen.links import without_links
from codegen.operation_ids import flat_ids
from codegen.version_3_1 import to_3_1
from codegen.walk import operations
from codegen.webhooks import without_webhooks
from tests.contract.reading import PAGE_TAGS
from tests.packages import from_npm

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "linters"
PAGE = ROOT / "docs" / "pages" / "reference" / "tools.md"
TIME_LIMIT = 300.0

FORMS = ("3.0", "3.1")
EXPLAINED = {
    # A provider sends a browser there; whatever happens, it is led on.
    ("operation-2xx-response", "#/paths/~1callback~1{provider}/get/responses"),
    ("operation-2xx-response", "#/paths/~1callback~1{provider}/post/responses"),
    *(
        ("operation-2xx-response", f"#/paths/~1sso~1{endpoint}/responses")
        for endpoint in (
            "callback~1{providerId}/get",
            "callback~1{providerId}/post",
            "saml2~1continue/get",
            "saml2~1sp~1acs~1{providerId}/post",
            "saml2~1sp~1slo~1{providerId}/get",
            "saml2~1sp~1slo~1{providerId}/post",
        )
    ),
    # An application sends a browser there; whatever happens, it is led on, to a page or back to the application.
    *(
        ("operation-2xx-response", f"#/paths/~1oauth2~1{endpoint}/{method}/responses")
        for endpoint in ("authorize", "end-session")
        for method in ("get", "post")
    ),
    # The form of a hosted page is answered by leading on to the next page.
    *(
        (
            "operation-2xx-response",
            f"#/paths/{operation.path.replace('/', '~1')}/{operation.method}/responses",
        )
        for operation in operations(bundle())
        if operation.spec["tags"][0] in PAGE_TAGS and "200" not in operation.spec["responses"]
    ),
}
"""Rule and place of the warnings that stay."""
DROPPED = re.compile(r"Pydantic does not take [a-z_, ]+ on (AwareDatetime|SecretStr)( \| None)?;")
"""What its own types check, or never show, pydantic does not compare with a pattern too."""

OF_WEBHOOKS = set(bundle()["components"]["schemas"]) - set(
    without_webhooks(bundle())["components"]["schemas"]
)
"""The schemas that openapi-generator takes for unused: it reads no webhooks."""

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Programs of a few seconds end before the better compiler and the other collectors have paid for themselves."""

PINS = {
    "openapi-spec-validator": (ROOT / "constraints.txt", "openapi-spec-validator=={}\n"),
    "Redocly CLI": (HERE / "package.json", '"@redocly/cli": "{}"'),
    "Spectral": (HERE / "package.json", '"@stoplight/spectral-cli": "{}"'),
    "openapi-generator": (ROOT / "codegen/sdk/others/requirements.txt", "openapi-generator-cli=={}\n"),
    "schemathesis": (ROOT / "constraints.txt", "schemathesis=={}\n"),
    "datamodel-code-generator": (ROOT / "constraints.txt", "datamodel-code-generator=={}\n"),
    "openapi-python-client": (ROOT / "codegen/sdk/python/requirements.txt", "openapi-python-client=={}\n"),
    "@hey-api/openapi-ts": (ROOT / "codegen/sdk/typescript/package.json", '"@hey-api/openapi-ts": "{}"'),
}
"""Where the version of each tool is fixed, and how it is written there."""


@pytest.fixture(scope="module")
def linters() -> Path:
    """The folder with the tools, installed once."""
    place = from_npm("linters", HERE / "package.json")
    shutil.copy(HERE / "spectral.yaml", place)
    return place


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The document as it is published, in both forms."""
    folder, published = tmp_path_factory.mktemp("published"), flat_ids(without_links(bundle()))
    files = folder / "3.0.json", folder / "3.1.json"
    for file, document in zip(files, (published, to_3_1(published)), strict=True):
        file.write_bytes(orjson.dumps(document))
    return files


def run(*command: str | Path, where: Path = ROOT, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=where,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )


def reported(finished: "subprocess.CompletedProcess[str]", opening: str) -> list[Any]:
    """Return the JSON reports in what a tool printed. Raises AssertionError with all of it when there is none."""
    reports, text = [], finished.stdout
    while (begin := text.find(opening)) >= 0:
        report, end = json.JSONDecoder().raw_decode(text[begin:])
        reports.append(report)
        text = text[begin + end :]
    assert reports, finished.stdout + finished.stderr
    return reports


def test_spectral_recommended(linters: Path, documents: tuple[Path, Path]) -> None:
    # Only the form that is published, for each takes half a minute of a processor. Where nothing is to be reported, the
    # last option alone tells that a document was not read.
    options = ("--format", "json", "--ruleset", "spectral.yaml", "--fail-on-unmatched-globs")
    finished = run(
        "node",
        "node_modules/@stoplight/spectral-cli/dist/index.js",
        "lint",
        *options,
        documents[0],
        where=linters,
    )

    assert (reported(finished, "["), finished.returncode) == ([[]], 0)


def test_redocly_recommended(linters: Path, documents: tuple[Path, Path]) -> None:
    options = ("--extends", "recommended", "--format", "json")
    finished = run(
        "node", "node_modules/@redocly/cli/bin/cli.js", "lint", *options, *documents, where=linters
    )

    reports = reported(finished, "{")
    for report in reports:
        found = {(problem["ruleId"], problem["location"][0]["pointer"]) for problem in report["problems"]}
        assert found - EXPLAINED == set()
    assert len(reports) == len(documents)


@pytest.mark.parametrize("form", FORMS)
def test_openapi_generator_validates(documents: tuple[Path, Path], form: str) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed, so openapi-generator cannot run")
    program = run(ROOT / ".ci" / "openapi-generator.sh")
    assert program.returncode == 0, program.stderr

    document = documents[FORMS.index(form)]
    finished = run(program.stdout.strip(), "validate", "--input-spec", document, JAVA_TOOL_OPTIONS=QUICK_JAVA)

    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = set(re.findall(r"^\s+- (.+)$", finished.stdout, re.MULTILINE))
    assert found == {f"Unused model: {name}" for name in OF_WEBHOOKS}
    assert "Errors:" not in finished.stdout


@pytest.mark.parametrize("form", FORMS)
def test_datamodel_code_generator_makes_models(
    documents: tuple[Path, Path], form: str, tmp_path: Path
) -> None:
    made = tmp_path / "made.py"
    options = (
        "--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--use-annotated",
        "--type-mappings", "redirect-target=string", "email=string", "--formatters", "ruff-format", "--output", made,
    )  # fmt: skip
    command = (sys.executable, "-m", "datamodel_code_generator", *options)

    finished = run(*command, "--input", documents[FORMS.index(form)])

    warnings = re.findall(r"Warning: (.*)$", finished.stderr, re.MULTILINE)
    assert finished.returncode == 0, finished.stderr
    assert [one for one in warnings if not DROPPED.match(one)] == []
    used = run(sys.executable, "-c", "from made import CurrentSession, Error, User", where=tmp_path)
    assert used.returncode == 0, used.stderr


def test_the_page_names_every_tool_in_the_version_that_is_run() -> None:
    rows = re.findall(
        r"^\| \[?([\w@/ -]+?)\]?(?:\([^)]*\))? \| ([\d.]+) \|", PAGE.read_text("utf-8"), re.MULTILINE
    )

    assert {name for name, _ in rows} == set(PINS)
    for name, version in rows:
        file, written = PINS[name]
        assert written.format(version) in file.read_text("utf-8"), name


def test_the_page_explains_every_warning_that_stays() -> None:
    text = PAGE.read_text("utf-8")

    assert {rule for rule, _ in EXPLAINED} == set(
        re.findall(r"`([a-z0-9-]+)` \((?:Redocly|Spectral)\)", text)
    )
