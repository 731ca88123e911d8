"""Importing users of Django: a database that the real packages fill, and odd cases in tables of the same form."""

import json
import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import pyotp
import pytest

from domain.data_import.eligibility import Field, ImportedUser
from server.importers.django import TABLE, django
from server.importers.report import Report
from server.importers.source import SourceRefused
from server.importers.tables import opened
from tests.docs.typing_in import guide, write_files
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.labs.provider.process import ProviderProcess
from tests.security import second_factor
from tests.server.importers import real
from tests.server.importers.guides import follow
from tests.server.importers.moving import HASH, HASHED, counts, parsed, take
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-django")
ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
HASHERS = ("pbkdf2_sha256", "pbkdf2_sha1", "argon2", "bcrypt_sha256", "bcrypt", "scrypt", "md5")
TABLES = """
CREATE TABLE auth_user (
    id integer PRIMARY KEY, password varchar(128), last_login datetime, is_superuser bool DEFAULT 0,
    username varchar(150), last_name varchar(150) DEFAULT '', email varchar(254), is_staff bool DEFAULT 0,
    is_active bool DEFAULT 1, date_joined datetime DEFAULT '2024-01-31 12:00:00', first_name varchar(150) DEFAULT '');
CREATE TABLE auth_group (id integer PRIMARY KEY, name varchar(150));
CREATE TABLE auth_user_groups (id integer PRIMARY KEY, user_id integer, group_id integer);
CREATE TABLE account_emailaddress (
    id integer PRIMARY KEY, verified bool, "primary" bool, user_id integer, email varchar(254));
CREATE TABLE otp_totp_totpdevice (
    id integer PRIMARY KEY, name varchar(64), confirmed bool, key varchar(80), step smallint DEFAULT 30,
    t0 bigint DEFAULT 0, digits smallint DEFAULT 6, user_id integer);
"""


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, object]]) -> None:
    for row in rows:
        places = ",".join("?" * len(row))
        names = ",".join(f'"{name}"' for name in row)
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", list(row.values()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with the tables of Django and of applications, without users."""
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
    return path


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the database that Django, django-allauth and django-otp fill."""
    return real.django(tmp_path_factory.mktemp("django") / "app.db")


def fill(file: Path, users: Iterable[Mapping[str, object]], **tables: Iterable[Mapping[str, object]]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        insert(connection, "auth_user", users)
        for table, rows in tables.items():
            insert(connection, table, rows)


async def read(file: Path, table: str = TABLE, roles: Iterable[str] = ()) -> list[ImportedUser | str]:
    async with opened(f"sqlite:///{file}", "sqlite:///own.db") as source:
        return await parsed(await django(source, table=table), roles)


async def move(service: Service, url: str, *without: Field, roles: Iterable[str] = ()) -> Report:
    own = service.services.settings.database_url.get_secret_value()
    async with opened(url, own) as source:
        return await take(service, await django(source), *without, roles=roles)


def user(id_: int, email: str = ADA, **more: object) -> dict[str, object]:
    return {"id": id_, "email": email, "username": f"user{id_}", "password": HASH, **more}


class TestRoles:
    async def test_superusers_staff_and_groups(self, file: Path) -> None:
        users = [
            user(1, "a@example.com", is_superuser=1, is_staff=1),
            user(2, "b@example.com", is_staff=1),
            user(3, "c@example.com"),
            user(4, "d@example.com"),
        ]
        groups = [{"id": 7, "name": "editor"}, {"id": 8, "name": "author"}, {"id": 9, "name": "other"}]
        members = [
            {"user_id": id_, "group_id": group} for id_, group in ((1, 7), (2, 7), (2, 9), (3, 8), (3, 7))
        ]
        fill(file, users, auth_group=groups, auth_user_groups=members)

        plain = await read(file)
        chosen = await read(file, roles=["admin", "staff", "editor", "author"])

        assert [each.role for each in plain if isinstance(each, ImportedUser)] == [None] * 4
        assert [set((each.role or "").split(",")) for each in chosen if isinstance(each, ImportedUser)] == [
            {"admin", "editor"}, {"staff", "editor"}, {"author", "editor"}, {""},
        ]  # fmt: skip


class TestUsers:
    async def test_names_and_emails(self, file: Path) -> None:
        users = [
            user(1, "Ada@Example.com", first_name="Ada", last_name="Lovelace", username="ada@example.com"),
            user(2, BOB, is_active=0),
            user(3, "", username="nobody"),
            user(4, EVE, username="eve@work"),
        ]
        verified = [
            {"user_id": 1, "email": "ada@example.com", "verified": 1, "primary": 1},
            {"user_id": 2, "email": "other@example.com", "verified": 1, "primary": 0},
        ]
        fill(file, users, account_emailaddress=verified)

        ada, bob, nobody, eve = await read(file)

        assert isinstance(ada, ImportedUser)
        assert isinstance(bob, ImportedUser)
        assert (ada.email, ada.email_verified, ada.name, ada.username) == (ADA, True, "Ada Lovelace", None)
        assert (bob.email_verified, bob.banned, bob.name, bob.username) == (False, True, "bob", "user2")
        assert nobody == "email: is missing: the user signs in without an email address"
        assert str(eve).startswith("username: is not accepted")

    async def test_passwords_that_nothing_matches(self, file: Path) -> None:
        fill(
            file,
            [user(1, password="!" + "x" * 40), user(2, BOB, password=""), user(3, EVE, password="plain$$x")],
        )

        ada, bob, eve = await read(file)

        assert isinstance(ada, ImportedUser)
        assert isinstance(bob, ImportedUser)
        assert (ada.password, bob.password) == (None, None)
        assert str(eve).startswith("passwordHash: is in no format")

    async def test_a_custom_table(self, file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.executescript(
                "CREATE TABLE people_person (id char(32) PRIMARY KEY, email text, password text);"
                f"INSERT INTO people_person VALUES ('{'a1' * 16}', '{ADA}', '{HASH}')"
            )

        [person] = await read(file, table="people_person")

        assert isinstance(person, ImportedUser)
        assert (person.id, person.email, person.password) == ("a1" * 16, ADA, HASH)

    async def test_a_table_that_is_missing(self, file: Path) -> None:
        with pytest.raises(SourceRefused, match=r" has no table people_person$"):
            await read(file, table="people_person")


class TestDevices:
    async def test_only_the_usual_ones(self, file: Path) -> None:
        devices = [
            {"user_id": 1, "confirmed": 0, "key": "00" * 20},
            {"user_id": 1, "confirmed": 1, "key": "48656c6c6f21deadbeef"},
            {"user_id": 2, "confirmed": 1, "key": "00" * 20, "digits": 8},
            {"user_id": 3, "confirmed": 1, "key": "no"},
        ]
        fill(file, [user(1), user(2, BOB), user(3, EVE)], otp_totp_totpdevice=devices)

        ada, *others = await read(file)

        assert isinstance(ada, ImportedUser)
        assert ada.second_factor is not None
        assert ada.second_factor.secret == "JBSWY3DPEHPK3PXP"
        assert others == [
            "twoFactor: is not an authenticator of six digits and 30 seconds",
            "twoFactor: the key is not hexadecimal",
        ]


@pytest.mark.long
class TestRealPackages:
    async def test_everything_that_is_kept(
        self, target: Service, url: str, provider: ProviderProcess
    ) -> None:
        report = await move(target, url, roles=["admin", "editor"])

        for hasher in HASHERS:
            signed_in = await sign_in(target, f"{hasher}@example.com", real.PASSWORD)
            assert signed_in.status_code == 200, (hasher, signed_in.text)
        ada = await sign_in(target, ADA, real.PASSWORD)
        code = pyotp.TOTP(SECRET).at(target.clock.now)
        entered = await second_factor.enter(target, "totp", code, bearer(ada.json()["token"]))
        inactive = await sign_in(target, EVE, real.PASSWORD)
        key = await sign_in(target, "key@example.com", real.PASSWORD)
        token = provider.mint(claims={"sub": "bob-at-the-provider", "email": "else@example.com"})
        bob = await target.post("/sign-in/social", {"provider": "test", "idToken": token})

        email_reason = "email: is missing: the user signs in without an email address"
        assert counts(report) == (11, 0, 1)
        assert dict(report.refused) == {email_reason: 1}
        about = await user_of(target, bearer(entered.json()["token"]))
        assert (about["name"], about["role"], about["emailVerified"], about["username"]) == (
            "Ada Lovelace", "admin", True, "ada",
        )  # fmt: skip
        assert about["createdAt"] == "2024-01-31T12:00:00.000Z"
        assert refusal(inactive)[:2] == (403, "BANNED_USER")
        assert key.json()["twoFactorMethods"] == ["otp"]
        assert bob.json()["user"]["email"] == BOB
        [stored] = await target.rows('SELECT role FROM "user" WHERE email = :email', email=BOB)
        assert stored.role == "editor"

    def test_the_guide(self, run: Run, tmp_path: Path, url: str) -> None:
        shutil.copy(url.removeprefix("sqlite:///"), tmp_path / "app.db")
        write_files(GUIDE, tmp_path)

        follow(run, GUIDE, "Rehearse")
        follow(run, GUIDE, "Switch")

        shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
        assert shown in lines(tmp_path / "ids.jsonl")


@pytest.mark.long
async def test_ten_thousand_users(service: Service, file: Path) -> None:
    fill(file, [user(number, f"user{number}@example.com") for number in range(1, 10_001)])

    report = await move(service, f"sqlite:///{file}")

    assert counts(report) == (10_000, 0, 0)
    assert (await sign_in(service, "user10000@example.com", HASHED)).status_code == 200
