"""Organizations of a Better Auth database: what is refused, left out, and found again."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from domain.data_import.eligibility import Field
from tests.conftest import MakeService
from tests.server.importers.moving import WITHOUT_ORGANIZATIONS, counts, take_organizations
from tests.server.terminal import Run
from tests.service import CHEAP, Service

SCHEMA = """
CREATE TABLE user (id TEXT, email TEXT, name TEXT, emailVerified INTEGER, createdAt INTEGER);
CREATE TABLE account (id TEXT, userId TEXT, providerId TEXT, accountId TEXT, password TEXT);
CREATE TABLE organization (id TEXT, name TEXT, slug TEXT, logo TEXT, metadata TEXT, createdAt INTEGER);
CREATE TABLE member (id TEXT, organizationId TEXT, userId TEXT, role TEXT, createdAt INTEGER);
CREATE TABLE team (id TEXT, name TEXT, organizationId TEXT, createdAt INTEGER, updatedAt INTEGER);
CREATE TABLE teamMember (id TEXT, teamId TEXT, userId TEXT, createdAt INTEGER);
CREATE TABLE invitation (id TEXT, organizationId TEXT, email TEXT, role TEXT, teamId TEXT, status TEXT,
  expiresAt INTEGER, createdAt INTEGER, inviterId TEXT);
CREATE TABLE apikey (id TEXT, key TEXT, referenceId TEXT, configId TEXT);
INSERT INTO user VALUES ('ada', 'ada@example.com', 'Ada', 1, 1767000000), ('bob', 'bob@example.com', 'Bob', 1, 0);
INSERT INTO organization VALUES ('acme', 'Acme', 'Acme', NULL, '{"plan": "free"}', 1767000000);
INSERT INTO member VALUES ('m1', 'acme', 'ada', 'owner', 1767000000), ('m2', 'acme', 'bob', 'member', 1767000001);
INSERT INTO team VALUES ('t1', 'Sales', 'acme', 1767000000, NULL);
INSERT INTO teamMember VALUES ('p1', 't1', 'bob', 1767000000);
INSERT INTO invitation VALUES
  ('i1', 'acme', 'Dora@Example.com', 'admin', 't1', 'pending', 4070908800, 1767000000, 'ada'),
  ('i2', 'acme', 'erik@example.com', 'member', NULL, 'canceled', 4070908800, 1767000000, 'ada'),
  ('i3', 'acme', 'fred@example.com', 'member', NULL, 'pending', 1767000000, 1767000000, 'ada');
"""
DIGEST = "A" * 43
"""The digest of an API key, as Better Auth stores it."""
SETTINGS = {
    "organizations.enabled": "true",
    "organizations.roles": json.dumps({"billing": {}}),
    "api_keys.kinds": json.dumps({"team": {"references": "organization"}, "ci": {"references": "user"}}),
}
TABLES = ("organization", "member", "team", "team_member", "invitation", "invitation_team", "api_key")

Fill = Callable[[str], str]


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Create a database of Better Auth, with changes; return its address."""

    def fill(changes: str = "") -> str:
        path = tmp_path / "auth.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            connection.executescript(SCHEMA + changes)
        connection.close()
        return f"sqlite:///{path}"

    return fill


async def numbers(service: Service) -> list[int]:
    """Return the number of rows of each table of organizations."""
    return [(await service.rows(f"SELECT count(*) FROM {table}"))[0][0] for table in TABLES]


@pytest.mark.both_databases
async def test_what_belongs_to_an_organization_comes_along(service: Service, fill: Fill) -> None:
    key = f"INSERT INTO apikey VALUES ('k1', '{DIGEST}', 'acme', 'team');"
    _, report = await take_organizations(service, fill(key))

    assert counts(report) == (1, 0, 0)
    assert await numbers(service) == [1, 2, 1, 1, 1, 1, 1]
    [organization] = await service.rows("SELECT * FROM organization")
    assert (organization.name, organization.slug, organization.custom_data) == (
        "Acme",
        "acme",
        '{"plan":"free"}',
    )
    rows = await service.rows(
        'SELECT email, member.role, is_owner FROM member JOIN "user" ON "user".id = user_id ORDER BY email'
    )
    assert [(row[0], row[1], bool(row[2])) for row in rows] == [
        ("ada@example.com", "owner", True),
        ("bob@example.com", "member", False),
    ]
    # Pending ones alone, without a secret.
    [invitation] = await service.rows("SELECT email, role, status, secret_digest FROM invitation")
    assert tuple(invitation) == ("dora@example.com", "admin", "pending", None)


@pytest.mark.both_databases
async def test_a_repeated_import_changes_nothing(service: Service, fill: Fill) -> None:
    url = fill("")
    await take_organizations(service, url)
    before = await numbers(service)

    rehearsed = await take_organizations(service, url, dry_run=True)
    again = await take_organizations(service, url)

    assert [counts(report) for report in (*rehearsed, *again)] == [(0, 2, 0), (0, 1, 0)] * 2
    assert await numbers(service) == before


OTHER = (
    "INSERT INTO organization VALUES ('other', 'Other', 'ACME', NULL, NULL, 0);"
    "INSERT INTO member VALUES ('m3', 'other', 'bob', 'owner', 0);"
)


@pytest.mark.both_databases
@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_slug_that_is_taken_is_reported(service: Service, fill: Fill, dry_run: bool) -> None:
    _, report = await take_organizations(service, fill(OTHER), dry_run=dry_run)

    assert counts(report) == (1, 0, 1)
    assert dict(report.refused) == {"slug: belongs to another organization": 1}
    assert (await numbers(service))[0] == (0 if dry_run else 1)


@pytest.mark.parametrize(
    ("change", "part", "reason"),
    [
        ("UPDATE organization SET slug = '-x'", None, "slug: must be"),
        ("UPDATE organization SET name = ' '", None, "name: must not be blank"),
        ("UPDATE organization SET logo = 'javascript:x'", Field.IMAGE, "logo: is not an http or https URL"),
        ("UPDATE organization SET metadata = '[1]'", Field.METADATA, "metadata: must be an object"),
        ("UPDATE organization SET metadata = '{'", Field.METADATA, "metadata: must be an object"),
        ("UPDATE member SET role = 'pirate' WHERE id = 'm2'", Field.MEMBERS, "members: pirate is not"),
        ("UPDATE member SET userId = 'eve' WHERE id = 'm2'", Field.MEMBERS, "members: a user was not"),
        ("UPDATE member SET role = 'admin'", Field.MEMBERS, "members: has no owner"),
        (
            "INSERT INTO member VALUES ('m3', 'acme', 'bob', 'admin', 0)",
            Field.MEMBERS,
            "members: a user is a",
        ),
        ("UPDATE team SET name = ''", Field.TEAMS, "teams: a name must not be blank"),
        ("UPDATE teamMember SET userId = 'eve'", Field.TEAMS, "teams: a user of a team is not a member"),
        (
            "UPDATE invitation SET inviterId = 'eve'",
            Field.INVITATIONS,
            "invitations: an inviter is not a member",
        ),
        ("UPDATE invitation SET teamId = 't9'", Field.INVITATIONS, "invitations: a team does not exist"),
        (
            "UPDATE invitation SET email = '?'",
            Field.INVITATIONS,
            "invitations: an email address is not valid",
        ),
        ("UPDATE invitation SET role = 'x'", Field.INVITATIONS, "invitations: x is not a configured role"),
        (
            "UPDATE invitation SET status = 'pending', expiresAt = 4070908800, email = 'd@example.com'",
            Field.INVITATIONS,
            "invitations: an email address is invited twice",
        ),
        (f"INSERT INTO apikey VALUES ('k', '{DIGEST}', 'acme', 'ci')", Field.API_KEYS, "apiKeys: ci is not"),
    ],
)
async def test_nothing_is_lost_silently(
    service: Service, fill: Fill, change: str, part: Field | None, reason: str
) -> None:
    url = fill(f"{change};")
    _, refused = await take_organizations(service, url)

    assert counts(refused) == (0, 0, 1)
    assert [each.startswith(reason) for each in refused.refused] == [True]
    assert (await numbers(service))[0] == 0
    if part is not None:
        # What refers to a part that is left out is left out by its own name.
        more = {Field.MEMBERS: (Field.TEAMS,), Field.TEAMS: (Field.INVITATIONS,)}.get(part, ())
        _, report = await take_organizations(service, url, part, *more)
        assert (counts(report), [each.startswith(reason) for each in report.left][:1]) == ((1, 0, 0), [True])


async def test_a_key_of_a_user_has_a_kind_of_users(service: Service, fill: Fill) -> None:
    users, _ = await take_organizations(
        service, fill(f"INSERT INTO apikey VALUES ('k1', '{DIGEST}', 'ada', 'team');")
    )

    assert dict(users.refused) == {"apiKeys: team is not a configured kind of keys": 1}


async def test_users_who_were_refused_bring_their_organization_later(service: Service, fill: Fill) -> None:
    users, first = await take_organizations(service, fill("UPDATE user SET email = '?' WHERE id = 'bob';"))
    _, second = await take_organizations(service, fill(""))

    assert (counts(users), counts(first), counts(second)) == ((1, 0, 1), (0, 0, 1), (1, 0, 0))


@pytest.fixture(params=[True, False])
def is_enabled(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def command_settings(is_enabled: bool) -> Mapping[str, str]:
    """With or without organizations."""
    settings = dict(CHEAP)
    return settings if is_enabled else settings | WITHOUT_ORGANIZATIONS


def test_the_command_says_what_it_left_out(run: Run, fill: Fill, tmp_path: Path, is_enabled: bool) -> None:
    done: Any = run("import", "better-auth", "--from", fill(OTHER), "--ids", str(tmp_path / "ids.jsonl"))

    first = "2 rows: 2 imported, 0 already present, 0 refused.\n"
    if is_enabled:
        assert done.exit_code == 3
        assert done.stdout.startswith(f"{first}2 organizations: 1 imported, 0 already present, 1 refused.\n")
    else:
        assert done.exit_code == 0
        assert done.stdout == f"{first}2 organizations left out: organizations.enabled is false.\n"
    lines = (tmp_path / "ids.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["row"] for line in lines] == ["id ada", "id bob"] + [
        "organization acme"
    ] * is_enabled
