"""What breaks clients of the contract is found, and passes only with a new major version."""

import os
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from codegen import diff
from codegen.bundle import bundle
from codegen.links import without_links
from tests import packages

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 600.0
Document = dict[str, Any]


@pytest.fixture(scope="module")
def oasdiff() -> str:
    """The path of the program, built once."""
    return packages.oasdiff(os.environ)


@pytest.fixture
def base() -> Document:
    """The contract as it is published."""
    return without_links(bundle())


def schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


def remove_an_operation(document: Document) -> None:
    del document["paths"]["/list-sessions"]


def rename_an_operation(document: Document) -> None:
    document["paths"]["/list-sessions"]["get"]["operationId"] = "sessions.list_all"


def require_a_field(document: Document) -> None:
    request = schema(document, "SignInEmailRequest")
    request["properties"]["tenant"] = {"type": "string"}
    request["required"].append("tenant")


def require_a_parameter(document: Document) -> None:
    parameter = {"name": "tenant", "in": "query", "required": True, "schema": {"type": "string"}}
    document["paths"]["/get-session"]["get"]["parameters"].append(parameter)


def narrow_an_enum(document: Document) -> None:
    schema(document, "SendVerificationEmailRequest")["properties"]["channel"]["enum"].remove("post")


def remove_a_property_of_answers(document: Document) -> None:
    user = schema(document, "User")
    del user["properties"]["email"]
    user["required"].remove("email")


def let_a_property_of_answers_be_missing(document: Document) -> None:
    schema(document, "User")["required"].remove("email")


def change_a_type(document: Document) -> None:
    schema(document, "User")["properties"]["name"]["type"] = "integer"


def shorten_a_text(document: Document) -> None:
    schema(document, "SignUpRequest")["properties"]["name"]["maxLength"] = 3


def forbid_the_cookie(document: Document) -> None:
    document["security"] = [{"bearerAuth": []}]


def close_an_open_operation(document: Document) -> None:
    document["paths"]["/sign-in/email"]["post"]["security"] = [{"bearerAuth": []}]


def open_an_operation(document: Document) -> None:
    document["paths"]["/list-sessions"]["get"]["security"] = []


def take_another_credential(document: Document) -> None:
    document["paths"]["/list-sessions"]["get"]["security"] = [
        *document["security"],
        {"pendingBearerAuth": []},
    ]


def add_an_operation(document: Document) -> None:
    document["paths"]["/list-everything"] = deepcopy(document["paths"]["/list-sessions"])
    document["paths"]["/list-everything"]["get"]["operationId"] = "sessions.list_everything"


def add_an_optional_field(document: Document) -> None:
    schema(document, "SignInEmailRequest")["properties"]["tenant"] = {"type": "string"}


def add_a_property_to_answers(document: Document) -> None:
    user = schema(document, "User")
    user["properties"]["nickname"] = {"type": "string"}
    user["required"].append("nickname")


def add_a_code(document: Document) -> None:
    schema(document, "ErrorCode")["enum"].append("TEAPOT")


def widen_an_enum(document: Document) -> None:
    schema(document, "SendVerificationEmailRequest")["properties"]["channel"]["enum"].append("fax")


def prepare(document: Document) -> None:
    """A closed list of values in a request: the contract of today has none."""
    channel = {"type": "string", "enum": ["mail", "post"]}
    schema(document, "SendVerificationEmailRequest")["properties"]["channel"] = channel


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (remove_an_operation, "GET /list-sessions"),
        (rename_an_operation, "sessions.list_active"),
        (require_a_field, "'tenant'"),
        (require_a_parameter, "'tenant'"),
        (narrow_an_enum, "'post'"),
        (remove_a_property_of_answers, "user/email'"),
        (let_a_property_of_answers_be_missing, "user/email'"),
        (change_a_type, "'integer'"),
        (shorten_a_text, "'3'"),
        (forbid_the_cookie, "'cookieAuth'"),
        (close_an_open_operation, "'no sign-in'"),
    ],
)
def test_what_breaks_clients_is_found(
    oasdiff: str, base: Document, change: Callable[[Document], None], said: str
) -> None:
    prepare(base)
    revision = deepcopy(base)
    change(revision)

    breaks, found = diff.compare(base, revision, oasdiff)

    assert breaks
    assert said in found


@pytest.mark.parametrize(
    "change",
    [
        add_an_operation,
        add_an_optional_field,
        add_a_property_to_answers,
        add_a_code,
        widen_an_enum,
        open_an_operation,
        take_another_credential,
    ],
)
def test_additions_pass(oasdiff: str, base: Document, change: Callable[[Document], None]) -> None:
    prepare(base)
    revision = deepcopy(base)
    change(revision)

    assert diff.compare(base, revision, oasdiff) == (False, "")


@pytest.mark.parametrize(
    ("revision", "breaks", "passes"),
    [
        ("1.2.3", False, True),
        ("1.3.0", False, True),
        ("2.0.0", False, True),
        ("2.0.0", True, True),
        ("1.2.3", True, False),
        ("1.3.0", True, False),
        ("1.10.0-rc.1", True, False),
        ("1.2.2", False, False),
        ("0.9.0", True, False),
    ],
)
def test_the_version_decides(revision: str, breaks: bool, passes: bool) -> None:
    assert (diff.verdict("1.2.3", revision, breaks=breaks) is None) is passes


def told(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "codegen.diff", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip


def written(place: Path, document: Document) -> Path:
    """Write a document into a file."""
    place.write_bytes(orjson.dumps(document))
    return place


def test_a_breaking_change_fails_until_the_major_version_is_new(
    oasdiff: str, base: Document, tmp_path: Path
) -> None:
    # The contract of today lacks an operation that this older one had.
    add_an_operation(base)
    now = int(base["info"]["version"].partition(".")[0])
    same = written(tmp_path / "same.json", base)
    older = written(tmp_path / "older.json", {**base, "info": {**base["info"], "version": f"{now - 1}.4.0"}})

    failed = told(same, "--oasdiff", oasdiff)
    passed = told(older, "--oasdiff", oasdiff)

    assert (failed.returncode, passed.returncode) == (1, 0)
    assert "GET /list-everything" in failed.stdout
    assert f"FAILED: these changes break clients of {base['info']['version']}" in failed.stdout
    assert "GET /list-everything" in passed.stdout
    assert "May be published" in passed.stdout


def test_the_contract_at_a_commit_is_read() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so there is no commit to compare with")

    document = diff.read("HEAD")

    assert document["info"]["title"] == "Gatewright"
    assert "/get-session" in document["paths"]


def test_nothing_breaks_clients_of_the_newest_release(oasdiff: str) -> None:
    found = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode != 0:
        pytest.skip("no release has been made, or this clone does not hold its tag")

    finished = told(found.stdout.strip(), "--oasdiff", oasdiff)

    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is neither a file nor a commit"),
        (b"openapi: 3.0.3", "is not JSON"),
        (b'{"info": {}}', "it has no info.version"),
        (b'{"info": {"version": "new"}, "paths": {}}', "info.version is new"),
        (b'{"info": {"version": "1.0.0"}}', "or no paths"),
        (
            b'{"info": {"version": "1.0.0"}, "paths": {"/": {"get": {"responses": {}, "parameters": 7}}}}',
            "cannot unmarshal",
        ),
    ],
)
def test_what_cannot_be_compared_is_named(
    oasdiff: str, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "base.json"
    if content is not None:
        file.write_bytes(content)

    finished = told(file, "--oasdiff", oasdiff)

    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
