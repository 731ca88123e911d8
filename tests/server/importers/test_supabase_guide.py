"""The guide on moving in from Supabase: its statements and commands in its order."""

import asyncio
import json
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.docs.typing_in import blocks, guide, typed, write_files
from tests.postgres import Cluster
from tests.server.importers import supabase_project
from tests.server.importers.guides import follow, under
from tests.server.importers.moving import HASH
from tests.server.importers.supabase_project import Project
from tests.server.terminal import Run, lines

GUIDE = guide("import-supabase")
STATEMENTS = {block.title: block.text for block in blocks(GUIDE, "sql")}
REASONS = re.findall(r"`([a-zA-Z]+: [^`]+)`", under(GUIDE, "Rehearse"))
"""What the guide says about refused users; `…` stands for any text."""
APPLICATION = """
CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$ SELECT NULL::uuid $$;
CREATE TABLE profiles (id uuid PRIMARY KEY REFERENCES auth.users ON DELETE CASCADE);
CREATE TABLE posts (
  author uuid NOT NULL DEFAULT auth.uid() REFERENCES profiles ON DELETE CASCADE, id uuid DEFAULT gen_random_uuid());
CREATE TABLE notes (user_id uuid, owner text, wall varchar(80));
CREATE VIEW post_ids AS SELECT id FROM posts;
CREATE POLICY own_profile ON profiles USING (auth.uid() = id);
CREATE POLICY public_posts ON posts USING (author IS NOT NULL);
ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE posts ENABLE ROW LEVEL SECURITY;
"""
"""Tables of the application, in the database of the project."""
DEFINED = """
SELECT concat(conrelid::regclass, ' ', conname, ' ', pg_get_constraintdef(oid)) FROM pg_constraint
  WHERE conrelid IN ('profiles'::regclass, 'posts'::regclass)
UNION ALL SELECT concat(tablename, ' ', policyname, ' ', qual) FROM pg_policies
UNION ALL SELECT concat(table_name, ' ', column_name, ' ', data_type, ' ', column_default)
  FROM information_schema.columns WHERE table_schema = 'public'
ORDER BY 1
"""
"""The foreign keys, policies and columns of the application."""
[(NEW_ID, NEW_UUID)] = re.findall(r"new_users VALUES \('(\w+)', '([\w-]+)'\)", STATEMENTS["new-users.sql"])
"""A user who signed up after the import: the ID here, and the one that Supabase gives later."""


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.create()


def test_the_steps(run: Run, tmp_path: Path, url: str) -> None:
    write_files(GUIDE, tmp_path)
    text = GUIDE.replace('"$SOURCE"', url)

    found = asyncio.run(_filled(url))
    follow(run, text, "Rehearse")
    follow(run, text, "Switch")
    imported = {user["id"] for user in json.loads(run("users", "list", "--json").stdout)}
    checked = [run(*line.split()[1:]) for line in _check().splitlines() if "doctor" not in line]
    converted, back = asyncio.run(_converted_and_back(url))

    [there] = found["what-is-there.sql"]
    assert there == {
        "users": 8, "without_email": 1, "anonymous": 2, "deleted": 1, "single_sign_on": 0, "admins": 1,
        "second_factors": '{"totp": 1}',
    }  # fmt: skip
    assert {row["provider"] for row in found["providers.sql"]} == {"email", "google", "github", "figma"}
    assert [tuple(row.values()) for row in found["foreign-keys.sql"]] == [
        ("posts", "author", "posts_author_fkey"),
        ("profiles", "id", "profiles_id_fkey"),
    ]
    assert [tuple(row.values()) for row in found["other-columns.sql"]] == [
        ("notes", "owner", "text"),
        ("notes", "user_id", "uuid"),
        ("posts", "author", "uuid"),
        ("profiles", "id", "uuid"),
    ]
    assert [tuple(row.values()) for row in found["policies.sql"]] == [
        ("posts", "author", "policy public_posts on table posts"),
        ("posts", "id", "rule _RETURN on view post_ids"),
        ("profiles", "id", "policy own_profile on table profiles"),
    ]
    assert [tuple(row.values()) for row in found["left-behind.sql"]] == [
        (uuid.UUID(int=0), None, False, False)
    ]
    assert converted == imported
    assert {uuid.UUID(id_) for id_ in converted} | {uuid.UUID(NEW_UUID)} == back
    assert [line["field"] for line in lines(tmp_path / "refused.jsonl")] == ["email", "accounts"]
    assert all(f"/callback/{name}" in run("providers", "list").stdout for name in ("google", "github"))
    assert [each.stdout.splitlines()[-1] for each in checked] == ["1 of 4 users", "0 users", "1 user"]


def _check() -> str:
    """Return the commands with which the guide counts the users."""
    [block] = blocks(under(GUIDE, "Switch").partition("### Check\n")[2], "bash")
    return block.text


async def _filled(url: str) -> dict[str, list[dict[str, Any]]]:
    """Fill the project, and return what the statements find before the import."""
    project = await Project.create(url)
    ada = await project.add(
        "ada@example.com",
        encrypted_password=HASH,
        app={"roles": ["admin"]},
        own={"full_name": "Ada\nLovelace"},
    )
    await project.add_identity(ada, "email", str(ada))
    await project.add_factor(ada, "totp", supabase_project.SECRET)
    await project.add_factor(ada, "totp", "B" * 32, status="unverified")
    users = [ada]
    for provider, own in (
        ("google", {"name": "Grace\u202eHopper\u2066\u2028", "full_name": " "}),
        ("github", {"name": "Grace\x85Hopper", "full_name": "long " * 100, "other": "\n"}),
        ("figma", {"name": {"first": "Fay\n"}}),
    ):
        users.append(await project.add(f"{provider}@example.com", own=own))
        await project.add_identity(users[-1], provider, "1234")
    # Equally frequent reasons are listed in the order of the ids.
    await project.add(None, phone="491234567890", id=uuid.UUID(int=0))
    await project.add(None, is_anonymous=True, raw_user_meta_data="null")
    await project.add(None, is_anonymous=True)
    await project.add("hz5KlbvnS96Iug16", deleted_at=supabase_project.JOINED)
    connection = project.connection
    await connection.execute(APPLICATION)
    await connection.execute("INSERT INTO profiles VALUES ($1)", uuid.UUID(int=0))
    for user in users:
        await connection.execute("INSERT INTO profiles VALUES ($1)", user)
        await connection.execute("INSERT INTO posts VALUES ($1)", user)
        await connection.execute("INSERT INTO notes VALUES ($1, $1::uuid::text, 'hello')", user)
    await connection.execute(STATEMENTS["names.sql"])
    names = await connection.fetch("SELECT raw_user_meta_data->>'name' FROM auth.users WHERE email LIKE 'g%'")
    assert {row[0] for row in names} == {"Grace Hopper ", "Grace Hopper"}
    found = {
        name: [dict(row) for row in await connection.fetch(STATEMENTS[name])]
        for name in (
            "what-is-there.sql",
            "providers.sql",
            "foreign-keys.sql",
            "other-columns.sql",
            "policies.sql",
            "left-behind.sql",
        )
    }
    await connection.close()
    return found


async def _converted_and_back(url: str) -> list[set[Any]]:
    """Return the references to users after their conversion, and after the way back."""
    connection = await asyncpg.connect(url)
    before = await connection.fetch(DEFINED)
    found = []
    for name in ("references.sql", "back.sql"):
        await connection.execute(STATEMENTS[name])
        found.append(
            {
                row["id"]
                for row in await connection.fetch(
                    "SELECT profiles.id FROM profiles JOIN posts ON profiles.id = author JOIN notes ON author = user_id"
                )
            }
        )
        assert await _follow_their_users(connection)
        if name == "references.sql":
            await _joined_later(connection)
    assert await connection.fetch(DEFINED) == before
    await connection.close()
    return found


async def _joined_later(connection: Any) -> None:
    """Add a user who signed up after the import, and create them at Supabase, where a trigger inserts a profile."""
    await connection.execute("INSERT INTO profiles VALUES ($1)", NEW_ID)
    await connection.execute("INSERT INTO posts VALUES ($1)", NEW_ID)
    await connection.execute("INSERT INTO notes VALUES ($1)", NEW_ID)
    with pytest.raises(asyncpg.PostgresError, match=r"^invalid input syntax for type uuid"):
        await connection.execute(STATEMENTS["back.sql"])
    await connection.execute("ROLLBACK")
    await connection.execute("INSERT INTO auth.users (id, email) VALUES ($1, 'new@example.com')", NEW_UUID)
    await connection.execute("INSERT INTO profiles VALUES ($1::uuid)", NEW_UUID)
    await connection.execute(STATEMENTS["new-users.sql"])


async def _follow_their_users(connection: Any) -> bool:
    """Return whether posts are deleted with the profile, and change nothing."""
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("DELETE FROM profiles")
    left = await connection.fetchval("SELECT count(*) FROM posts")
    await transaction.rollback()
    return bool(left == 0)


def test_new_users_are_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"id": "17", "email": "ada@example.com"}\n', "utf-8")
    run("import", "json-lines", "old.jsonl", "--ids", "ids.jsonl")
    run("users", "create", "new@example.com", stdin="correct horse battery")

    [block] = blocks(under(GUIDE, "The way back"), "bash")
    export, search = block.text.split("\n", 1)
    run(*export.split()[1:])
    [new] = [json.loads(line) for line in typed(search, tmp_path).splitlines() if line.startswith("{")]

    assert new["email"] == "new@example.com"
    assert new["passwordHash"].startswith("$argon2id$")
    assert len(lines(tmp_path / "users.jsonl")) == 2


ROLES: Sequence[Mapping[str, Any]] = (
    {"role": "admin"}, {"role": ["admin"]}, {"roles": "editor, admin"}, {"roles": ["editor", "admin"]},
    {"role": "editor", "roles": ["admin"]}, {"role": "administrator"}, {"roles": {"admin": True}}, {},
)  # fmt: skip
"""Metadata of users, of whom the first five are administrators."""


def test_administrators_are_counted_as_they_are_imported(run: Run, url: str) -> None:
    async def fill() -> int:
        project = await Project.create(url)
        for number, metadata in enumerate(ROLES):
            await project.add(f"{number}@example.com", app=metadata)
        row = await project.connection.fetchrow(STATEMENTS["what-is-there.sql"])
        await project.connection.close()
        return int(row["admins"])

    counted = asyncio.run(fill())
    run("import", "supabase", "--from", url, "--role", "admin")

    assert counted == 5
    assert run("users", "list", "--role", "admin", "--limit", "1").stdout.endswith("\n1 of 5 users\n")


LATER = datetime(2200, 1, 1, tzinfo=UTC)
REFUSED: Sequence[tuple[str | None, Mapping[str, Any]]] = (
    ("new@example.com", {"created_at": LATER}),
    ("new2@example.com", {"updated_at": LATER}),
    ("unknown@example.com", {"encrypted_password": "$9$"}),
    ("damaged@example.com", {"encrypted_password": "$2b$12$x"}),
    ("costly@example.com", {"encrypted_password": HASH.replace("$04$", "$31$")}),
    ('"quoted"@example.com', {}),
    (" space@example.com", {}),
    ("ada@an_underscore.example.com", {}),
    ("ada@localhost", {}),
    ("ad\u00e4@example.com", {}),
    (None, {}),
)
"""Users who are refused: their addresses and columns."""


def test_the_reasons_are_explained(run: Run, tmp_path: Path, url: str) -> None:
    async def fill() -> None:
        project = await Project.create(url)
        for email, columns in REFUSED:
            await project.add(email, **columns)
        # The first one by its id is imported.
        for number, email in enumerate(("Twice@example.com", "twice@example.com")):
            await project.add(email, id=uuid.UUID(int=number))
        for secret in ("AAAA", "1" * 32):
            await project.add_factor(await project.add(f"{secret}@example.com"), "totp", secret)
        await project.connection.close()

    asyncio.run(fill())
    run("import", "supabase", "--from", url, "--report", "refused.jsonl")

    refused = lines(tmp_path / "refused.jsonl")
    reasons = [f"{line['field']}: {line['reason']}" for line in refused]
    explained = re.compile("|".join(re.escape(reason).replace("…", ".*") for reason in REASONS))
    assert [reason for reason in reasons if not explained.match(reason)] == []
    assert Counter(line["field"] for line in refused) == {
        "email": 7, "passwordHash": 3, "twoFactor": 2, "createdAt": 1, "updatedAt": 1,
    }  # fmt: skip
    [twice] = [line for line in refused if line["reason"] == "belongs to another user"]
    assert (twice["email"], twice["owner"]) == ("twice@example.com", uuid.UUID(int=0).hex)
    [same] = asyncio.run(_separated(url))
    assert tuple(same.values()) == ("twice@example.com", [uuid.UUID(int=0), uuid.UUID(int=1)])
    again = run("import", "supabase", "--from", url)
    assert "belongs to another user" not in again.stdout


async def _separated(url: str) -> list[dict[str, Any]]:
    """Return the addresses that users share, and give one of these users another address, as the guide shows it."""
    connection = await asyncpg.connect(url)
    found = await connection.fetch(STATEMENTS["same-address.sql"])
    await connection.execute(STATEMENTS["another-address.sql"])
    await connection.close()
    return [dict(row) for row in found]
