"""What breaks clients of the contract is found, and passes only with a new major version."""

import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from codegen import diff
from codegen.bundle import bundle
from codegen.links import without_links
from tests import packages

pytestmark = pytest.mark.long

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


def test_what_breaks_clients_is_found(oasdiff: str, base: Document) -> None:
    # A closed list of values in a request, which the contract of today does not have.
    channel = {"type": "string", "enum": ["mail", "post"]}
    schema(base, "SendVerificationEmailRequest")["properties"]["channel"] = channel
    revision = deepcopy(base)
    paths, user, sign_in = revision["paths"], schema(revision, "User"), schema(revision, "SignInEmailRequest")
    tenant = {"name": "tenant", "in": "query", "required": True, "schema": {"type": "string"}}
    del paths["/list-sessions"]
    paths["/list-accounts"]["get"]["operationId"] = "accounts.list_everything"
    paths["/get-session"]["get"]["parameters"].append(tenant)
    paths["/sign-in/email"]["post"]["security"] = [{"bearerAuth": []}]
    revision["security"] = [{"bearerAuth": []}]
    sign_in["properties"]["organisation"] = {"type": "string"}
    sign_in["required"].append("organisation")
    schema(revision, "SendVerificationEmailRequest")["properties"]["channel"]["enum"].remove("post")
    schema(revision, "SignUpRequest")["properties"]["name"]["maxLength"] = 3
    user["properties"]["name"]["type"] = "integer"
    del user["properties"]["email"]
    user["required"] = [name for name in user["required"] if name not in {"email", "createdAt"}]

    breaks, found = diff.compare(base, revision, oasdiff)

    assert breaks
    for said in (
        "GET /list-sessions", "accounts.list_linked", "'tenant'", "'no sign-in'", "'cookieAuth'", "'organisation'",
        "'post'", "'3'", "'integer'", "user/email'", "user/createdAt'",
    ):  # fmt: skip
        assert said in found


def test_additions_pass(oasdiff: str, base: Document) -> None:
    channel = {"type": "string", "enum": ["mail", "post"]}
    schema(base, "SendVerificationEmailRequest")["properties"]["channel"] = channel
    revision = deepcopy(base)
    add_an_operation(revision)
    paths, user = revision["paths"], schema(revision, "User")
    paths["/list-sessions"]["get"]["security"] = []
    paths["/list-accounts"]["get"]["security"] = [*base["security"], {"pendingBearerAuth": []}]
    schema(revision, "SignInEmailRequest")["properties"]["tenant"] = {"type": "string"}
    schema(revision, "SendVerificationEmailRequest")["properties"]["channel"]["enum"].append("fax")
    schema(revision, "ErrorCode")["enum"].append("TEAPOT")
    user["properties"]["nickname"] = {"type": "string"}
    user["required"].append("nickname")

    assert diff.compare(base, revision, oasdiff) == (False, "")


def add_an_operation(document: Document) -> None:
    document["paths"]["/list-everything"] = deepcopy(document["paths"]["/list-sessions"])
    document["paths"]["/list-everything"]["get"]["operationId"] = "sessions.list_everything"


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
