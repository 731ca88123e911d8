"""What the documentation makes of the code is what the code says: settings, errors, operations, commands."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from codegen.bundle import bundle
from codegen.client_forms import for_programs, is_of_protocol
from codegen.walk import Operation, operations
from codegen.webhooks import requests
from docs import commands, errors, settings, webhook_events
from docs.curl import command
from docs.operations import camel, pages, refusals, security
from server.config.settings import AllSettings
from server.config.sources import fields, variable
from tests.docs.typing_in import PAGES, README, Shell
from tests.live import ROOT, TIMEOUT, LiveService, serving

DOCUMENT = for_programs(bundle())
EVERY = list(operations(DOCUMENT))
IN_CLIENTS = [operation for operation in EVERY if not is_of_protocol(DOCUMENT, operation.spec)]
OPERATION_IDS = {operation.spec["operationId"] for operation in operations(bundle())}
CONSUMERS = ROOT / "tests" / "labs" / "sdk" / "consumers"
NAMES = {".".join(path) for path, _ in fields(AllSettings)}
GROUPS = {".".join(path[:-1]) for path, _ in fields(AllSettings)}
VARIABLES = {variable(path) for path, _ in fields(AllSettings)} | {"GATEWRIGHT_CONFIG"}
OF_OTHERS = re.compile(r"GATEWRIGHT_(?:TEST_|PROVIDERS)|GATEWRIGHT_(?:URL|LONG|OASDIFF)$")
"""Variables that name no setting of the service: of tests, of guides, and of providers, whose ids are free."""
EVENTS = {
    name
    for package in ("domain", "server")
    for module in (ROOT / package).rglob("*.py")
    for name in re.findall(r'"([a-z_]+\.[a-z_]+)"', module.read_text("utf-8"))
}
"""What the log and the records name, which looks like a setting."""
DOCUMENTS = [README, ROOT / "SECURITY.md", *sorted(PAGES.rglob("*.md"))]


def id_of(operation: Operation) -> str:
    return str(operation.spec["operationId"])


class TestSettings:
    def test_the_committed_page_is_that_of_the_classes(self) -> None:
        assert settings.PAGE.read_text("utf-8") == settings.text()

    def test_it_has_every_setting_and_its_variable(self) -> None:
        page = settings.text()

        assert [path for path in NAMES if f"| `{path}`<br>" not in page] == []
        assert [name for name in VARIABLES if f"`{name}`" not in page] == []

    @pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
    def test_a_setting_that_is_named_is_one(self, document: Path) -> None:
        text = document.read_text("utf-8")
        prefixes = {name.partition(".")[0] for name in NAMES if "." in name}

        named = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)(?: = [^`]+)?`", text))
        variables = {
            name.removesuffix("_FILE") for name in re.findall(r"\bGATEWRIGHT_[A-Z0-9_]*[A-Z0-9]\b", text)
        }

        known = NAMES | GROUPS | EVENTS | OPERATION_IDS
        assert {one for one in named if one.partition(".")[0] in prefixes} - known == set()
        assert {one for one in variables if not OF_OTHERS.match(one)} - VARIABLES == set()


class TestErrors:
    def test_every_code_of_the_contract_has_its_entry_and_leads_to_its_operations(self) -> None:
        [page] = errors.pages().values()

        entries = dict(part.split(" {", 1) for part in page.split("\n## ")[1:])

        codes = set(DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"])
        assert set(entries) == codes | {"Errors of the OAuth protocol"}
        assert "users.md#users-delete" in entries["SESSION_EXPIRED"]
        assert "| 404 | Invalid token | The deletion token" in entries["INVALID_TOKEN"]
        assert "every operation outside the OAuth protocol except" in entries["INTERNAL_SERVER_ERROR"]

    def test_every_error_of_the_protocol_that_an_operation_links_has_its_entry(self) -> None:
        [page] = errors.pages().values()
        linked = {name for text in pages().values() for name in re.findall(r"errors\.md#([\w-]+)", text)}

        entries = set(re.findall(r"^##+ .* \{ #([\w-]+) \}$", page, re.MULTILINE))

        assert {"oauth-invalid_client", "oauth-server_error", "not_found"} <= linked
        assert linked - entries == set()

    def test_an_operation_lists_its_codes_by_status(self) -> None:
        [deletion] = [one for one in EVERY if id_of(one) == "users.delete"]

        found = refusals(DOCUMENT, deletion)

        assert list(found) == sorted(found)
        assert "SESSION_EXPIRED" in found[400]
        assert 200 not in found


class TestCommands:
    def test_every_command_has_its_entry(self) -> None:
        [page] = commands.pages().values()

        assert {"gatewright serve", "gatewright users ban", "gatewright settings"} <= set(
            re.findall(r"^## `([^`]+)`$", page, re.MULTILINE)
        )
        assert "gatewright mail test EMAIL" in page
        assert "gatewright users list [SEARCH]" in page
        assert "```sh\ngatewright users unban ada@example.com\n```" in page


class TestOperations:
    def test_every_operation_and_every_object_has_its_entry(self) -> None:
        every = pages()
        texts = "".join(every.values())

        assert [id_of(one) for one in EVERY if f"operation ID `{id_of(one)}`;" not in texts] == []
        assert "## CurrentSession\n" in every["reference/types.md"]
        assert "| `newPassword` | yes |" in every["reference/types.md"]

    def test_its_names_in_the_clients_are_those_the_journeys_use(self) -> None:
        python, typescript = (
            "".join(file.read_text("utf-8") for file in sorted(CONSUMERS.glob(pattern)))
            for pattern in ("python/**/*.py", "typescript/**/*.ts")
        )

        for one in IN_CLIENTS:
            tag, _, verb = id_of(one).partition(".")
            assert re.search(rf"gatewright_client\.api\.{tag} import [^)]*?\b{verb}_?\b", python), id_of(one)
            assert f".{camel(tag)}.{camel(verb)}(" in typescript, id_of(one)


class TestWebhookEvents:
    def test_every_event_has_its_entry_and_its_line_in_the_overview(self) -> None:
        [page] = webhook_events.pages().values()
        overview, *_ = page.split("\n## `")

        entries = re.findall(r"^## `([a-z_.]+)` ", page, re.MULTILINE)
        assert entries == sorted(requests(DOCUMENT))
        assert re.findall(r"^\| \[`([a-z_.]+)`\]", overview, re.MULTILINE) == entries
        assert "`user`, `actorId`, `sessionIds`, `all`, `reason`" in overview
        assert "`webhook-signature`" in overview

    def test_what_events_refer_to_is_on_the_page_of_objects(self) -> None:
        objects = pages()["reference/types.md"]

        assert "## WebhookUser\n" in objects
        assert "## UserCreatedEvent\n" not in objects


VERIFIER = "v" * 40


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    settings = {"limits.enabled": "false", "api_keys.verifiers": f"docs:{VERIFIER}"}
    with serving(tmp_path_factory.mktemp("reference"), settings) as service:
        yield service


@pytest.mark.parametrize("operation", EVERY, ids=id_of)
def test_its_command_is_understood(operation: Operation, live: LiveService, tmp_path: Path) -> None:
    person = {"name": "Ada", "email": f"{id_of(operation)}@example.com", "password": "seven red bicycles"}
    signed_up = httpx.post(f"{live.url}/sign-up/email", json=person, trust_env=False, timeout=TIMEOUT).json()
    shell = Shell(
        tmp_path,
        {
            "BASE": live.url,
            "TOKEN": signed_up["token"],
            "PENDING": signed_up["token"],
            "VERIFIER": VERIFIER,
            "ACCESS_TOKEN": "gwa_unknown",
            "SCIM_TOKEN": "scim_unknown",
        },
    )

    typed = command(DOCUMENT, operation, security(DOCUMENT, operation))
    *body, status = shell.type(f"{typed} -w '\\n%{{http_code}}'").strip().splitlines()

    assert shell.leave() == 0
    assert status in operation.spec["responses"]
    if status.startswith(("4", "5")):
        answer = json.loads("".join(body))
        if id_of(operation).startswith("scim.") and "detail" in answer:
            assert (status, answer["status"]) == ("401", "401")
            return
        name = answer["code"] if "code" in answer else answer["error"]
        assert name in refusals(DOCUMENT, operation)[int(status)]
        assert name not in {"VALIDATION_ERROR", "BAD_REQUEST", "UNAUTHORIZED"}
