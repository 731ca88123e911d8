"""The command `gatewright api-keys`."""

import json
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.server.terminal import Run, complaint
from tests.service import CHEAP, PASSWORD

ADA = "ada@example.com"


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own."""
    return CHEAP | {"GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}"}


@pytest.fixture
def key(run: Run) -> tuple[str, str]:
    """The id and the text of a key of Ada."""
    run("users", "create", ADA, stdin=f"{PASSWORD}\n")
    created = run(
        "api-keys", "create", "--user", ADA, "--name", "ci", "--for", "90d", "--permissions", "files=read,write",
        "--permissions", "mails=read", "--remaining", "5", "--refill", "1000/1d", "--rate", "600/1m", "--prefix", "ci_",
    )  # fmt: skip
    assert created.exit_code == 0, created.stderr
    assert re.fullmatch(r"ci_[A-Za-z0-9]{64}\n", created.stdout)
    (key_id,) = re.findall(r"Created the key (\w{32}) of", created.stderr)
    return key_id, created.stdout.strip()


def shown(run: Run, key_id: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(run("api-keys", "show", key_id, "--json").stdout)
    return found


def test_a_key_is_created_shown_and_listed(run: Run, key: tuple[str, str]) -> None:
    key_id, text = key

    found = shown(run, key_id)
    assert found["permissions"] == {"files": ["read", "write"], "mails": ["read"]}
    assert [found[name] for name in ("remaining", "refillAmount", "refillInterval")] == [5, 1000, 86_400_000]
    assert (found["rateLimitEnabled"], found["rateLimitMax"], found["rateLimitTimeWindow"]) == (
        True,
        600,
        60_000,
    )
    assert (found["createdBy"], found["prefix"]) == (None, "ci_")
    listed = run("api-keys", "list", "--user", ADA)
    assert key_id in listed.stdout
    assert [text in printed for printed in (listed.stdout, json.dumps(found))] == [False, False]
    assert "0 keys" in run("api-keys", "list", "--unused", "1d").stdout
    assert "0 keys" in run("api-keys", "list", "--created-by", ADA).stdout


def test_a_key_is_verified_found_and_disabled(run: Run, key: tuple[str, str]) -> None:
    key_id, text = key

    for _ in range(6):  # Nothing is used up.
        assert run("api-keys", "verify", "--permissions", "files=read", stdin=text).exit_code == 0
    refused = run("api-keys", "verify", "--permissions", "files=delete", stdin=text)
    assert complaint(refused.stderr).startswith("API Key does not have the required permissions")
    assert run("api-keys", "disable", key_id).stdout == f"{key_id} is disabled.\n"
    assert complaint(run("api-keys", "verify", stdin=text).stderr).startswith("API Key is disabled")
    found = run("api-keys", "find", stdin=f"{text}\n").stdout
    assert [part for part in (key_id, ADA, "disabled") if part not in found] == []
    assert text not in found
    assert run("api-keys", "enable", key_id).exit_code == 0
    assert complaint(run("api-keys", "find", stdin="gwk_nothing").stderr).startswith("Invalid API key")


def test_a_key_is_changed_and_deleted(run: Run, key: tuple[str, str]) -> None:
    key_id, _ = key

    changed = run("api-keys", "update", key_id, "--rate", "none", "--for", "never", "--name", "new")
    assert changed.exit_code == 0
    found = shown(run, key_id)
    assert (found["rateLimitEnabled"], found["expiresAt"], found["name"]) == (False, None, "new")
    assert run("api-keys", "delete", key_id, stdin="n\n").exit_code == 1
    assert run("api-keys", "delete", key_id, "--yes").stdout == f"Deleted {key_id}.\n"
    assert complaint(run("api-keys", "show", key_id).stderr).startswith("API Key not found")
    events = [json.loads(line) for line in run("audit", "--json").stdout.splitlines()]
    ours = {event["event"]: event["details"] for event in events if event["event"].startswith("api_key.")}
    assert {name: details["by"] for name, details in ours.items()} == dict.fromkeys(
        ("api_key.created", "api_key.updated", "api_key.deleted"), "operator"
    )


def test_a_key_of_an_organization(run: Run, tmp_path: Path) -> None:
    kinds = '[organizations]\nenabled = true\n[api_keys.kinds.team]\nreferences = "organization"\n'
    (tmp_path / "gatewright.toml").write_text(kinds, "utf-8")
    run("users", "create", ADA, stdin=f"{PASSWORD}\n")
    connection = sqlite3.connect(tmp_path / "gatewright.db")
    with connection:
        connection.execute(
            "INSERT INTO organization (id, name, slug, created_at, updated_at) VALUES ('o1', 'Acme', 'acme', 0, 0)"
        )
    connection.close()

    created = run("api-keys", "create", "--org", "acme", "--kind", "team")
    found = run("api-keys", "find", stdin=created.stdout)

    assert created.exit_code == 0, created.stderr
    assert "of acme; it is shown only here" in created.stderr
    assert "organization o1" in found.stdout
    for owner in (("--org", "ACME"), ("--org", "o1"), ()):
        assert "1 key" in run("api-keys", "list", *owner).stdout
    assert "0 keys" in run("api-keys", "list", "--user", ADA).stdout
    for words, problem in (
        (("--org", "acme"), "The kind default is for keys of users"),
        (("--user", ADA, "--kind", "team"), "The kind team is for keys of organizations"),
        (("--org", "nobody", "--kind", "team"), "There is no such organization"),
        (("--org", "acme", "--user", ADA), "name the owner, either with --user or with --org"),
        ((), "name the owner, either with --user or with --org"),
    ):
        failed = run("api-keys", "create", *words)
        assert failed.exit_code != 0
        assert problem in re.sub(r"[\s│]+", " ", failed.stderr)


def test_what_is_wrong_is_named(run: Run, key: tuple[str, str]) -> None:
    create = ("create", "--user", ADA)
    for words, problem in (
        ((*create, "--rate", "x/1m"), "x/1m should be like 1000/1d"),
        ((*create, "--rate", "0/1m"), "0/1m should be like 1000/1d"),
        ((*create, "--rate", "5"), "should be a duration"),
        ((*create, "--permissions", "files"), "files should be like files=read,write"),
        ((*create, "--permissions", "files="), "files= should be like files=read,write"),
        ((*create, "--for", "soon"), "should be a duration"),
        ((*create, "--for", "1s"), "The expiresIn is smaller than the predefined minimum value."),
        ((*create, "--user", "nobody"), "There is no such user"),
        ((*create, "--kind", "other"), "API key configuration not found"),
        (("update", key[0]), "name what to change"),
    ):
        failed = run("api-keys", *words)

        assert failed.exit_code != 0
        assert problem in re.sub(r"[\s│]+", " ", failed.stderr)


def test_a_verifier_token_fits_the_settings(run: Run) -> None:
    made = run("api-keys", "verifier", "files")

    assert re.fullmatch(r"[A-Za-z0-9]{40}\n", made.stdout)
    assert f'"files:{made.stdout.strip()}"' in made.stderr
