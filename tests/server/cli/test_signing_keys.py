"""The command `gatewright signing-keys`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.server.terminal import Run, complaint
from tests.service import CHEAP

KID = re.compile(r"[\w-]{43}")


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own, and two algorithms that cost little."""
    return CHEAP | {
        "GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}",
        "GATEWRIGHT_JWT__ALGORITHMS": "ES256,EdDSA",
    }


def listed(run: Run) -> list[list[str]]:
    """Return key, algorithm and state of every key, newest first."""
    return [line.split()[:3] for line in run("signing-keys", "list").stdout.splitlines() if KID.match(line)]


def test_keys_are_rotated_revoked_and_exported(run: Run) -> None:
    assert listed(run) == []

    first = run("signing-keys", "rotate", "--now", "--algorithm", "ES256")
    announced = run("signing-keys", "rotate")
    [*_, (kid, *_)] = listed(run)
    states = sorted(line[1:] for line in listed(run))
    refused = run("signing-keys", "revoke", kid, stdin="n\n")
    revoked = run("signing-keys", "revoke", kid, "--yes")
    exported = json.loads(run("signing-keys", "export-public").stdout)

    assert (first.exit_code, first.stdout) == (0, "The new keys sign from now on.\n")
    assert (announced.exit_code, announced.stdout) == (0, "The new keys are published.\n")
    assert states == [["ES256", "announced"], ["ES256", "signing"], ["EdDSA", "announced"]]
    assert (refused.exit_code, revoked.exit_code) == (1, 0)
    assert revoked.stdout.splitlines()[-1] == f"Revoked {kid}."
    changed = sorted(line[1:] for line in listed(run))
    assert changed == sorted([*states, ["ES256", "revoked"]])
    # The command's own log says what else it did: a revoked key is replaced.
    done = [json.loads(line)["event"] for line in revoked.stderr.splitlines()]
    assert done == ["signing_key.revoked", "signing_key.created", "signing_key.activated"]
    assert kid in run("audit", "--json").stdout
    assert kid not in {key["kid"] for key in exported["keys"]}
    assert [set(key) & {"d", "p", "q"} for key in exported["keys"]] == [set()] * 3


def test_says_what_is_wrong(run: Run) -> None:
    run("signing-keys", "rotate", "--now")
    run("signing-keys", "rotate")

    off = {"GATEWRIGHT_JWT__ENABLED": "false", "GATEWRIGHT_OAUTH__ENABLED": "false"}
    for words, settings, said in (
        (("revoke", "nope", "--yes"), {}, "There is no signing key nope"),
        (("rotate", "--algorithm", "RS256"), {}, "RS256 is none of jwt.algorithms: ES256, EdDSA"),
        (("rotate",), off, "jwt.enabled is false: no keys are used"),
    ):
        done = run("signing-keys", *words, **settings)
        assert (done.exit_code, complaint(done.stderr)) == (1, said)
    done = run("signing-keys", "rotate", "--algorithm", "EdDSA")
    assert done.exit_code == 1
    assert re.fullmatch(rf"The next EdDSA key is already announced: {KID.pattern}", complaint(done.stderr))
