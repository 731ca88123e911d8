"""Every operation of a running service under schemathesis, for each kind of caller (see the .toml beside)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from codegen.bundle import bundle
from codegen.client_forms import is_of_protocol
from codegen.operation_ids import flat_ids
from codegen.version_3_1 import to_3_1
from domain.oauth_clients.metadata import DEVICE_CODE
from tests.contract import conformance
from tests.contract.client import CLIENT_SECRET
from tests.contract.reading import DOCUMENT, DOCUMENT_3_1, JSON_OPERATIONS, OPERATIONS, PAGE_TAGS
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import serving
from tests.service import declared_settings

CLIENTS = json.dumps(
    {
        "shop": {
            "client_name": "Shop",
            "redirect_uris": ["https://shop.example/callback"],
            "grant_types": ["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE],
            "secret": CLIENT_SECRET,
        }
    }
)
"""A client from the configuration, which may use every grant type."""

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TIME_LIMIT = 900


@dataclass(frozen=True, slots=True)
class Door:
    """The root URL of a service in a process of its own, and the issuer of a provider that it knows."""

    service: str
    issuer: str
    documents: Mapping[str, Path]
    """The contract in both forms, with the links that the service does not publish."""
    folder: Path
    """Where the service runs."""
    config: Path
    """How schemathesis knocks."""


LEADING_ON = [f"oauth_{name}{method}" for name in ("authorize", "end_session") for method in ("", "_by_post")]
"""Operations of the OAuth protocol that browsers are sent to."""

PROTOCOL = [
    name.replace(".", "_")
    for name, operation in OPERATIONS.items()
    if is_of_protocol(DOCUMENT_3_1, operation.spec) and not name.startswith("scim.")
]
"""Operations of the OAuth protocol, which take forms."""

EXAMPLES = os.environ.get("GATEWRIGHT_EXAMPLES", "")
"""How many requests are generated for each of them."""
MANY = pytest.mark.skipif(not EXAMPLES, reason="takes long: make fuzz-protocol")

_OF_EVERY_FORM = {"BAD_REQUEST", "VALIDATION_ERROR"}
_ACCEPTANCE = ["2xx", "3xx", "400", "401", "403", "404", "409", "413", "414", "422", "429", "5xx"]
_REJECTION = ["302", "303", *(status for status in _ACCEPTANCE if status[0] in "45"), "405", "415", "431"]


def refusing() -> list[str]:
    """Return the operations that may refuse with 400 or 422 what the schema allows, as the contract names the codes.

    Which passwords, usernames, addresses and tokens are right is not for a schema to say. `sso.sign_in` needs one
    of four fields: a schema that says so has no form that all generators of clients read.
    """
    rules = conformance.Contract(DOCUMENT)
    return [
        operation_id.replace(".", "_")
        for operation_id, operation in JSON_OPERATIONS.items()
        if rules.codes(operation.method, operation.path, 400, 422) - _OF_EVERY_FORM
        or operation_id == "sso.sign_in"
    ]


def permitted_tags() -> list[str]:
    """Return the tags with operations that need a permission."""
    tags = {
        operation.spec["tags"][0]
        for operation in JSON_OPERATIONS.values()
        for code in conformance.codes_of(operation.spec, 403, DOCUMENT)
        if code.startswith("YOU_ARE_NOT_ALLOWED_TO_")
    }
    return sorted(tags)


def config() -> str:
    """Return the configuration of schemathesis."""
    pages = sorted(PAGE_TAGS)
    return f"""{(HERE / "schemathesis.toml").read_text("utf-8")}
[[operations]]
include-operation-id = {json.dumps(refusing())}

[operations.checks.positive_data_acceptance]
expected-statuses = {json.dumps(_ACCEPTANCE)}

# Browsers are led to the error page, or back to the client, whatever is wrong.
[[operations]]
include-operation-id = {json.dumps(LEADING_ON)}

[operations.checks.negative_data_rejection]
expected-statuses = {json.dumps(_REJECTION)}

# Hosted pages show a form again with 422, also for what the schema allows, and lead who is not signed in, or whose
# sign-in has ended, to the sign-in page before anything is looked at.
[[operations]]
include-tag = {json.dumps(pages)}

[operations.checks.positive_data_acceptance]
expected-statuses = {json.dumps(_ACCEPTANCE)}

[operations.checks.negative_data_rejection]
expected-statuses = {json.dumps(_REJECTION)}
"""


@pytest.fixture(scope="module")
def door(provider_process: ProviderProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A service that knows a provider of the present time."""
    provider_process.reset()
    mails = {"magic_links.enabled": "true", "magic_links.confirm": "false", "email_codes.enabled": "true"}
    settings = {
        **social_settings(provider_process), **declared_settings("SETTINGS"), **mails,
        "jwt.algorithms": "ES256,RS256,EdDSA", "limits.enabled": "false", "oauth.clients": CLIENTS,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("knocked")
    published = flat_ids(bundle())
    documents = {"3.0": folder / "3.0.json", "3.1": folder / "3.1.json"}
    documents["3.0"].write_bytes(orjson.dumps(published))
    documents["3.1"].write_bytes(orjson.dumps(to_3_1(published)))
    (folder / "schemathesis.toml").write_text(config())
    with serving(folder, settings) as live:
        yield Door(live.url, provider_process.issuer, documents, folder, folder / "schemathesis.toml")


def knock(door: Door, form: str, carried_by: str, phases: str, *more: str) -> None:
    """Run schemathesis against a service; its report is the text of the failure."""
    options = ["--config-file", str(door.config), "run", str(door.documents[form]), *more]
    finished = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *options, "--url", door.service, "--phases", phases],
        cwd=ROOT,
        env={
            **os.environ,
            "LIVE_SERVER": door.service,
            "PROVIDER": door.issuer,
            "CARRIED_BY": carried_by,
            "SERVICE_FOLDER": str(door.folder),
            "PYTHONWARNINGS": "default",
        },
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    assert finished.returncode == 0, f"{finished.stdout}\n{finished.stderr}"


@pytest.mark.parametrize(
    ("carried_by", "form", "phases", "number"),
    [
        # What is wrong with a request does not depend on who sends it: the coverage of all schemas once is enough.
        ("bearer", "3.0", "examples,coverage,fuzzing", "3"),
        pytest.param("cookie", "3.1", "examples,fuzzing", "1", marks=MANY),
        ("nothing", "3.1", "examples,fuzzing", "1"),
    ],
)
def test_every_operation_keeps_the_contract(
    door: Door, carried_by: str, form: str, phases: str, number: str
) -> None:
    # Pages know who asks by a cookie alone, and are covered by tests/handlers/test_inputs.py.
    excluded = sorted(PAGE_TAGS) if "coverage" in phases and not EXAMPLES else []
    named = [word for tag in excluded for word in ("--exclude-tag", tag)]
    knock(door, form, carried_by, phases, "--max-examples", "10" if EXAMPLES else number, *named)


@pytest.mark.parametrize(
    ("carried_by", "tags"),
    [
        ("pending", ["two_factor"]),
        ("administrator", permitted_tags()),
    ],
)
def test_what_few_may_do_keeps_the_contract(door: Door, carried_by: str, tags: list[str]) -> None:
    named = [word for tag in tags for word in ("--include-tag", tag)]
    knock(
        door,
        "3.0",
        carried_by,
        "examples,coverage,fuzzing",
        "--max-examples",
        "10" if EXAMPLES else "3",
        *named,
    )


@MANY
def test_forms_of_the_oauth_protocol_keep_the_contract(door: Door) -> None:
    """The other tests send a few of them."""
    named = [word for name in PROTOCOL for word in ("--include-operation-id", name)]
    knock(door, "3.0", "bearer", "examples,fuzzing", "--max-examples", EXAMPLES, *named)


def test_chains_of_operations_keep_the_contract(door: Door) -> None:
    knock(door, "3.0", "bearer", "stateful")
