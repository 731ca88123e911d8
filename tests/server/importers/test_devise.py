"""Importing users of Devise: the columns of its generator and of devise-two-factor, on SQLite and on PostgreSQL."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import asyncpg
import pyotp
import pytest

from domain.data_import.eligibility import Field, ImportedUser
from server.database.sqlite.temporary_map import temporary_map
from server.importers.devise import devise, read_secrets
from server.importers.report import Report
from server.importers.source import SourceRefused
from server.importers.tables import opened
from tests.docs.typing_in import guide, write_files
from tests.handlers.steps import bearer, refusal, sign_in
from tests.labs.provider.process import ProviderProcess
from tests.postgres import Cluster
from tests.security import second_factor
from tests.server.importers.guides import follow
from tests.server.importers.moving import HASH, HASHED, counts, parsed, take
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-devise")
ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
ENCRYPTED = (
    '{"p":"yrnrIYTCt+/YGEg2F8QCfieMHJ02zjEi","h":{"iv":"fmmU6Jx5f+XEg9u0","at":"LozZUSLUGwo6US0sW39Vmw=="}}'
)
TIME = "2024-01-31 12:00:00.123456"
SQLITE = """
CREATE TABLE users (
    id integer PRIMARY KEY AUTOINCREMENT NOT NULL, email varchar DEFAULT '' NOT NULL,
    encrypted_password varchar DEFAULT '' NOT NULL, reset_password_token varchar, remember_created_at datetime(6),
    confirmed_at datetime(6), unconfirmed_email varchar, failed_attempts integer DEFAULT 0 NOT NULL,
    locked_at datetime(6), provider varchar, uid varchar, name varchar, username varchar, role varchar, admin boolean,
    otp_secret varchar, otp_required_for_login boolean, discarded_at datetime(6),
    created_at datetime(6) DEFAULT '2024-01-31 12:00:00.123456', updated_at datetime(6));
CREATE TABLE identities (id integer PRIMARY KEY NOT NULL, user_id integer, provider varchar, uid varchar);
"""
POSTGRESQL = (
    SQLITE.replace("integer PRIMARY KEY AUTOINCREMENT", "uuid PRIMARY KEY")
    .replace("datetime(6)", "timestamp(6)")
    .replace("user_id integer", "user_id uuid")
)

Row = Mapping[str, object]


def user(id_: object, email: str = ADA, **more: object) -> dict[str, object]:
    return {"id": id_, "email": email, "encrypted_password": HASH, **more}


def fill(path: Path, users: Sequence[Row], identities: Sequence[Row] = ()) -> str:
    """Return the address of a SQLite database with these users."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SQLITE)
        for table, rows in (("users", users), ("identities", identities)):
            for row in rows:
                places = ",".join("?" * len(row))
                connection.execute(
                    f"INSERT INTO {table} ({','.join(row)}) VALUES ({places})", list(row.values())
                )
    return f"sqlite:///{path}"


async def read(url: str, secrets: bytes = b"", **options: Any) -> list[ImportedUser | str]:
    async with opened(url, "sqlite:///own.db") as source:
        with temporary_map() as kept:
            await read_secrets(BytesIO(secrets), kept)
            named = {"table": "users", "identities": "identities", "has_pepper": False, **options}
            return await parsed(await devise(source, kept, **named), ["admin", "editor"])


async def move(service: Service, url: str, *without: Field, secrets: bytes = b"") -> Report:
    own = service.services.settings.database_url.get_secret_value()
    async with opened(url, own) as source:
        with temporary_map() as kept:
            await read_secrets(BytesIO(secrets), kept)
            found = await devise(source, kept, table="users", identities="identities", has_pepper=False)
            return await take(service, found, *without)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "production.sqlite3"


class TestUsers:
    async def test_every_column(self, path: Path) -> None:
        users = [
            user(1, name="Ada L.", username="ada", admin=1, role="editor", confirmed_at=TIME),
            user(2, BOB, encrypted_password="", role="editor", locked_at=TIME, admin="f"),
            user(3, "", confirmed_at=TIME),
            user(4, EVE, role=2, admin="t"),
        ]

        ada, bob, nobody, eve = await read(fill(path, users))

        assert isinstance(ada, ImportedUser)
        assert isinstance(bob, ImportedUser)
        assert isinstance(eve, ImportedUser)
        assert (ada.email_verified, ada.name, ada.username, ada.role) == (True, "Ada L.", "ada", "admin")
        assert ada.created_at is not None
        assert ada.created_at.isoformat() == "2024-01-31T12:00:00.123456+00:00"
        assert (bob.email_verified, bob.banned, bob.role, bob.password) == (False, True, "editor", None)
        assert nobody == "email: is missing: the user signs in without an email address"
        assert eve.role == "admin"

    async def test_a_pepper_refuses_passwords(self, path: Path) -> None:
        url = fill(path, [user(1), user(2, BOB, encrypted_password="")])

        ada, bob = await read(url, has_pepper=True)

        assert ada == "passwordHash: was made with a pepper, so it cannot be checked here"
        assert isinstance(bob, ImportedUser)

    async def test_other_tables(self, path: Path) -> None:
        url = fill(path, [user(1)], [{"user_id": 1, "provider": "figma", "uid": "5"}])
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("ALTER TABLE users RENAME TO members")
            connection.execute("ALTER TABLE identities RENAME TO logins")

        found = await read(url, table="members", identities="logins")

        assert found == ["accounts: figma is not a configured provider"]


class TestSecondFactors:
    async def test_secrets_in_the_table_and_in_the_file(self, path: Path) -> None:
        users = [
            user(1, otp_required_for_login=1, otp_secret=ENCRYPTED),
            user(2, BOB, otp_required_for_login=1, otp_secret=SECRET),
            user(3, EVE, otp_required_for_login=0, otp_secret=ENCRYPTED),
        ]
        url = fill(path, users)

        without = await read(url)
        with_file = await read(url, json.dumps({"id": 1, "otp_secret": SECRET}).encode())

        assert without[0] == "twoFactor: is on, and the secret is encrypted: pass --otp-file"
        factors = [each.second_factor for each in with_file if isinstance(each, ImportedUser)]
        assert [factor and factor.secret for factor in factors] == [SECRET, SECRET, None]

    @pytest.mark.parametrize(
        "line", [b"text", b'{"id": 1.5, "otp_secret": "A"}', b'{"id": 1, "otp_secret": 2}', b"{}"]
    )
    async def test_a_file_that_is_something_else(self, line: bytes, path: Path) -> None:
        with pytest.raises(SourceRefused, match=r"^--otp-file: line 2: "):
            await read(fill(path, []), b'{"id": 1, "otp_secret": null}\n' + line)


async def test_from_postgresql(target: Service, cluster: Cluster, provider: ProviderProcess) -> None:
    url = cluster.create()
    ids = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(4)]
    connection = await asyncpg.connect(url)
    await connection.execute(POSTGRESQL)
    await connection.executemany(
        "INSERT INTO users (id, email, encrypted_password, otp_required_for_login, otp_secret, locked_at, discarded_at,"
        " provider, uid) VALUES ($1::text::uuid, $2, $3, $4, $5, $6::text::timestamp, $7::text::timestamp, $8, $9)",
        [
            (ids[0], ADA, HASH, True, ENCRYPTED, None, None, None, None),
            (ids[1], BOB, "", None, None, None, None, "test", "bob-at-the-provider"),
            (ids[2], EVE, HASH, False, None, TIME, None, None, None),
            (ids[3], "gone@example.com", HASH, False, None, None, TIME, None, None),
        ],
    )
    await connection.close()

    report = await move(target, url, secrets=json.dumps({"id": ids[0], "otp_secret": SECRET}).encode())

    ada = await sign_in(target, ADA, HASHED)
    code = pyotp.TOTP(SECRET).at(target.clock.now)
    entered = await second_factor.enter(target, "totp", code, bearer(ada.json()["token"]))
    locked = await sign_in(target, EVE, HASHED)
    token = provider.mint(claims={"sub": "bob-at-the-provider", "email": "else@example.com"})
    bob = await target.post("/sign-in/social", {"provider": "test", "idToken": token})
    assert counts(report) == (3, 0, 0)
    assert dict(report.left_out) == {"deleted users": 1}
    assert entered.json()["user"]["id"] == ids[0].replace("-", "")
    assert refusal(locked)[:2] == (403, "BANNED_USER")
    assert bob.json()["user"]["email"] == BOB


def test_the_guide(run: Run, tmp_path: Path, path: Path) -> None:
    fill(
        path,
        [
            user(1, confirmed_at=TIME, otp_required_for_login=1, otp_secret=ENCRYPTED),
            user(2, BOB),
            user(3, EVE, confirmed_at=TIME),
            user(4, "gone@example.com", discarded_at=TIME),
        ],
    )
    write_files(GUIDE, tmp_path)

    follow(run, GUIDE, "Rehearse")
    follow(run, GUIDE, "Switch")

    shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
    assert shown in lines(tmp_path / "ids.jsonl")


@pytest.mark.long
async def test_ten_thousand_users(service: Service, path: Path) -> None:
    url = fill(path, [user(number, f"user{number}@example.com") for number in range(1, 10_001)])

    report = await move(service, url)

    assert counts(report) == (10_000, 0, 0)
    assert (await sign_in(service, "user10000@example.com", HASHED)).status_code == 200
