"""The command `gatewright passkeys`."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import cbor2
import pytest

from tests.authenticator import Authenticator, base64url
from tests.server.terminal import Run, complaint
from tests.service import CHEAP

ADA = "ada@example.com"


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own."""
    return CHEAP | {"GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}"}


@pytest.fixture
def listed(run: Run, tmp_path: Path) -> list[dict[str, object]]:
    """The two passkeys of Ada."""
    passkeys = [
        {
            "name": name,
            "credentialID": base64url(device.credential_id),
            "publicKey": base64.b64encode(cbor2.dumps(device.cose_key)).decode(),
        }
        for name, device in (("Phone", Authenticator()), ("Key", Authenticator()))
    ]
    (tmp_path / "users.jsonl").write_text(json.dumps({"email": ADA, "passkeys": passkeys}), "utf-8")
    assert run("import", "json-lines", "users.jsonl").exit_code == 0
    found: list[dict[str, object]] = json.loads(run("passkeys", "list", "--user", ADA, "--json").stdout)
    return found


def test_they_are_listed_and_one_or_all_are_removed(run: Run, listed: list[dict[str, object]]) -> None:
    printed = run("passkeys", "list", "--user", ADA).stdout
    unknown = run("passkeys", "remove", "--user", ADA, "--passkey", "x" * 32, "--yes")
    one = run("passkeys", "remove", "--user", ADA, "--passkey", str(listed[0]["id"]), "--yes")
    others = run("passkeys", "remove", "--user", ADA, "--all", stdin="y\n")
    none = run("passkeys", "list", "--user", ADA)

    assert {passkey["name"] for passkey in listed} == {"Phone", "Key"}
    assert [part for part in ("Phone", "example.com") if part not in printed] == []
    assert printed.endswith("2 passkeys\n")
    assert (unknown.exit_code, complaint(unknown.stderr)) == (1, "Passkey not found")
    assert one.stdout == f"Removed 1 passkey of {ADA}.\n"
    assert others.stdout.endswith(f"Removed 1 passkey of {ADA}.\n")
    assert none.stdout == "0 passkeys\n"
    records = run("audit", "--json", "--event", "passkey.removed").stdout.splitlines()
    assert [json.loads(record)["details"]["by"] for record in records] == ["operator"] * 2


@pytest.mark.parametrize("words", [[], ["--all", "--passkey", "x"]])
def test_it_must_be_said_which(run: Run, words: list[str]) -> None:
    assert run("passkeys", "remove", "--user", ADA, *words).exit_code == 2
