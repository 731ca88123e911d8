"""The command `gatewright orgs`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.terminal import Run, complaint
from tests.service import CHEAP, PASSWORD

ADA, BOB, CAROL = "ada@example.com", "bob@example.com", "carol@example.com"


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own."""
    return CHEAP | {
        "GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}",
        "GATEWRIGHT_ORGANIZATIONS__ENABLED": "true",
        "GATEWRIGHT_ORGANIZATIONS__TEAMS__ENABLED": "false",
    }


@pytest.fixture
def acme(run: Run) -> str:
    """The id of an organization of Ada; Bob is a user, too."""
    for email in (ADA, BOB):
        assert run("users", "create", email, stdin=f"{PASSWORD}\n").exit_code == 0
    created = run("orgs", "create", "Acme Inc.", "--slug", "Acme", "--owner", ADA)
    assert created.exit_code == 0, created.stderr
    (organization,) = re.findall(r"Created acme with the id (\w{32})\.", created.stdout)
    return str(organization)


def done(run: Run, *words: str) -> str:
    """Run a command that succeeds; return what it prints."""
    answer = run("orgs", *words)
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout


def parsed(run: Run, *words: str) -> Any:
    return json.loads(done(run, *words, "--json"))


def refused(run: Run, *words: str) -> str:
    """Run a command that fails; return its complaint."""
    answer = run(*words)
    assert answer.exit_code == 1, answer.stdout
    # A refusal that is recorded is a line of the log, too.
    return complaint(answer.stderr).splitlines()[-1]


def test_an_organization_is_created_listed_and_shown(run: Run, acme: str) -> None:
    for search in ("", "acm", "INC", acme):
        assert [one["slug"] for one in parsed(run, "list", search)] == ["acme"]
    assert parsed(run, "list", "%") == []
    assert [parsed(run, "list", "--user", user) == [] for user in (ADA, BOB)] == [False, True]
    assert "1 organization" in done(run, "list")

    for name in ("acme", "ACME", acme):
        shown = parsed(run, "show", name)
        assert (shown["id"], shown["name"], shown["memberCount"]) == (acme, "Acme Inc.", 1)
        assert [owner["user"]["email"] for owner in shown["owners"]] == [ADA]
    assert f"Owners: {ADA}" in done(run, "show", "acme")


def test_an_organization_is_changed_and_deleted(run: Run, acme: str) -> None:
    done(run, "update", "acme", "--name", "Acme", "--slug", "acme-2", "--logo", "https://example.com/a.png")
    shown = parsed(run, "show", "acme-2")
    assert (shown["name"], shown["logo"]) == ("Acme", "https://example.com/a.png")
    done(run, "update", "acme-2", "--logo", "none")
    assert parsed(run, "show", acme)["logo"] is None

    assert run("orgs", "delete", "acme-2", stdin="n\n").exit_code == 1
    assert done(run, "delete", "acme-2", "--yes") == "Deleted acme-2.\n"
    assert refused(run, "orgs", "show", "acme-2") == "Organization not found"


def test_members_are_added_changed_and_removed(run: Run, acme: str) -> None:
    done(run, "add-member", "acme", BOB, "--role", "member,admin")
    assert "2 members" in done(run, "members", "acme")
    found = [(one["user"]["email"], one["role"]) for one in parsed(run, "members", acme)]
    assert found == [(ADA, "owner"), (BOB, "member,admin")]

    # An administrator makes another owner only through the command line: no role limits it.
    assert done(run, "set-role", "acme", BOB, "owner") == f"Roles of {BOB} in acme: owner.\n"
    done(run, "remove-member", "acme", ADA)

    assert [one["user"]["email"] for one in parsed(run, "members", "acme")] == [BOB]


@pytest.mark.threat("ORG10")
def test_an_owner_remains(run: Run, acme: str) -> None:
    done(run, "add-member", "acme", BOB, "--role", "admin")

    assert "without an owner" in refused(run, "orgs", "set-role", "acme", ADA, "admin")
    assert "as the only owner" in refused(run, "orgs", "remove-member", "acme", ADA)
    said = refused(run, "users", "delete", ADA, "--yes")
    assert said.startswith(f"{ADA} is the only owner of acme.")
    assert parsed(run, "list", "--without-owner") == []
    done(run, "set-role", "acme", BOB, "owner")
    assert run("users", "delete", ADA, "--yes").exit_code == 0


def test_an_organization_without_other_members_goes_with_its_owner(run: Run, acme: str) -> None:
    assert run("users", "delete", ADA, "--yes").exit_code == 0
    assert parsed(run, "list") == []


def test_an_address_is_invited_in_the_name_of_a_member_who_may(run: Run, acme: str) -> None:
    done(run, "add-member", "acme", BOB, "--role", "member")
    invite = ("orgs", "invite", "acme", CAROL, "--role", "admin", "--as")
    assert refused(run, *invite, BOB) == "You are not allowed to invite users to this organization"
    assert refused(run, *invite, "nobody") == "There is no such user"

    sent = done(run, *invite[1:], ADA)
    [pending] = parsed(run, "invitations", "acme")
    assert (pending["email"], pending["role"], pending["status"]) == (CAROL, "admin", "pending")
    assert pending["id"] in sent
    assert "inv_" not in sent + done(run, "invitations", "acme")

    assert done(run, "cancel-invitation", pending["id"]) == f"Canceled {pending['id']}.\n"
    assert parsed(run, "invitations", "acme")[0]["status"] == "canceled"
    assert refused(run, "orgs", "cancel-invitation", pending["id"]) == "Invitation not found"


def test_a_banned_member_invites_nobody(run: Run, acme: str) -> None:
    assert run("users", "ban", ADA).exit_code == 0

    said = refused(run, "orgs", "invite", "acme", CAROL, "--role", "member", "--as", ADA)

    assert said == "You are not allowed to invite users to this organization"


def test_what_is_wrong_is_named(run: Run, acme: str) -> None:
    create = ("orgs", "create", "Other", "--owner", ADA, "--slug")
    for words, problem in (
        ((*create, "acme"), "Organization already exists"),
        ((*create, "a b"), "The slug must be 1 to 64 letters, digits"),
        ((*create, "-a"), "The slug must be 1 to 64 letters, digits"),
        ((*create, "x" * 65), "The slug must be 1 to 64 letters, digits"),
        ((*create, "b", "--logo", "javascript:1"), "The logo must be an http or https URL"),
        (("orgs", "create", " ", "--owner", ADA, "--slug", "b"), "name] must not be blank"),
        (("orgs", "create", "x" * 129, "--owner", ADA, "--slug", "b"), "The name is longer than 128"),
        (("orgs", "create", "Other", "--owner", "nobody", "--slug", "b"), "There is no such user"),
        (("orgs", "show", "nothing"), "Organization not found"),
        (("orgs", "members", "nothing"), "Organization not found"),
        (("orgs", "add-member", "acme", ADA, "--role", "member"), "User is already a member"),
        (("orgs", "add-member", "acme", BOB, "--role", "king"), "Role not found"),
        (("orgs", "set-role", "acme", BOB, "member"), "Member not found"),
        (("orgs", "remove-member", "acme", BOB), "Member not found"),
        (("orgs", "list", "--user", "nobody"), "There is no such user"),
    ):
        assert problem in refused(run, *words)
    nothing = run("orgs", "update", "acme")
    assert (nothing.exit_code, "name what to change" in nothing.stderr) == (2, True)


def test_what_the_operator_did_is_recorded(run: Run, acme: str) -> None:
    done(run, "add-member", "acme", BOB, "--role", "member")
    done(run, "delete", "acme", "--yes")

    events = [json.loads(line) for line in run("audit", "--json").stdout.splitlines()]

    ours = {one["event"]: one["details"] for one in events if "organizationId" in one["details"]}
    assert {
        name: (details["by"], details["organizationId"]) for name, details in ours.items()
    } == dict.fromkeys(("organization.created", "member.added", "organization.deleted"), ("operator", acme))


def test_everything_works_while_organizations_are_off(run: Run, acme: str) -> None:
    off = {"GATEWRIGHT_ORGANIZATIONS__ENABLED": "false"}

    answer = run("orgs", "create", "Other", "--slug", "other", "--owner", ADA, **off)

    assert "set organizations.enabled" in answer.stdout
    assert run("orgs", "add-member", "other", BOB, "--role", "member", **off).exit_code == 0
