"""Importing users of WordPress: the JSON that `wp user list` prints."""

import json
from io import BytesIO
from pathlib import Path

import pytest

from domain.data_import.eligibility import ImportedUser
from server.crypto import foreign_hashes, imported_secrets
from server.importers.report import Report
from server.importers.source import SourceRefused
from server.importers.wordpress import Wordpress
from tests.docs.typing_in import guide, write_files
from tests.handlers.steps import sign_in
from tests.server.importers.guides import follow
from tests.server.importers.moving import HASHED, counts, parsed, take
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-wordpress")
ADA, BOB, GRACE = "ada@example.com", "bob@example.com", "grace@example.com"
BCRYPT = "$wp$2y$04$6DKuCv/IpPi2FcEBkhEVSONBE1gQj1/HcJB13wsUr.IrOx6qhIogC"
PHPASS = "$P$671zWzIiYpCo/c8QnQEVWLkhwtaw2S0"
MD5 = "3cb4e732631f47e6eb961f34554b7cde"
"""Three hashes of `correct horse`."""


def user(id_: int, email: str = ADA, **more: object) -> dict[str, object]:
    return {
        "ID": id_, "user_login": f"user{id_}", "user_email": email, "user_pass": BCRYPT, "display_name": f"User {id_}",
        "user_registered": "2024-01-31 12:00:00", "roles": "subscriber", **more,
    }  # fmt: skip


def source(*users: object) -> Wordpress:
    return Wordpress(BytesIO(json.dumps(users).encode()))


async def move(service: Service, *users: object) -> Report:
    return await take(service, source(*users))


class TestPasswords:
    async def test_hashes_of_all_versions(self, service: Service) -> None:
        users = [user(1), user(2, BOB, user_pass=PHPASS), user(3, GRACE, user_pass=MD5)]

        report = await move(service, *users)

        assert counts(report) == (3, 0, 0)
        for email in (ADA, BOB, GRACE):
            assert (await sign_in(service, email, HASHED + "x")).status_code == 401
            assert (await sign_in(service, email, HASHED)).status_code == 200

    def test_bcrypt_reads_the_whole_password_without_spaces_around_it(self) -> None:
        stored = imported_secrets.stored(BCRYPT)

        assert foreign_hashes.matches(f" {HASHED}\n", stored)
        assert not foreign_hashes.matches("correct  horse", stored)

    @pytest.mark.parametrize("damaged", [BCRYPT[:-1], "$wp$2y$31" + BCRYPT[9:]])
    async def test_damaged_and_costly_hashes_are_refused(self, damaged: str) -> None:
        [reason] = await parsed(source(user(1, user_pass=damaged)))

        assert str(reason).removeprefix("passwordHash: ") in (
            imported_secrets.BROKEN,
            imported_secrets.COSTLY,
        )


class TestUsers:
    async def test_names_roles_and_times(self) -> None:
        ada, bob, eve = await parsed(
            source(
                user(1, roles="administrator,editor", display_name="Ada"),
                user(2, BOB, user_login=BOB.upper(), display_name=BOB, user_pass=""),
                user(3, "eve@example.com", spam="1", roles=""),
            ),
            ["admin", "editor"],
        )

        assert isinstance(ada, ImportedUser)
        assert isinstance(bob, ImportedUser)
        assert isinstance(eve, ImportedUser)
        assert (ada.name, ada.username, ada.role, ada.email_verified) == (
            "Ada",
            "user1",
            "admin,editor",
            False,
        )
        assert ada.created_at is not None
        assert ada.created_at.isoformat() == "2024-01-31T12:00:00+00:00"
        assert (bob.name, bob.username, bob.role, bob.password) == ("bob", None, None, None)
        assert (eve.banned, eve.role) == (True, None)

    async def test_rows_that_cannot_be_read(self) -> None:
        short = {"ID": 1, "user_email": ADA}

        found = await parsed(source(short, "text", user(3, ""), user(4, user_login="Grace Hopper")))

        assert found == [
            "user_login: is missing: add it to --fields of `wp user list`",
            "ID: is missing: add it to --fields of `wp user list`",
            "user_email: is missing: the user signs in without an email address",
            "username: is not accepted: Username is invalid",
        ]

    async def test_deleted_users_are_left_out(self, service: Service) -> None:
        report = await move(service, user(1), user(2, BOB, deleted="1"))

        assert counts(report) == (1, 0, 0)
        assert dict(report.left_out) == {"deleted users": 1}

    @pytest.mark.parametrize(
        ("text", "reason"), [("[]", "has no users"), ('{"a": 1}', "has no users"), ("[{", "cut off")]
    )
    async def test_a_file_that_is_something_else(self, text: str, reason: str) -> None:
        with pytest.raises(SourceRefused, match=reason):
            await parsed(Wordpress(BytesIO(text.encode())))


def test_the_guide(run: Run, tmp_path: Path) -> None:
    write_files(GUIDE, tmp_path)

    follow(run, GUIDE, "Rehearse")
    follow(run, GUIDE, "Switch")

    shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
    assert shown in lines(tmp_path / "ids.jsonl")


@pytest.mark.long
async def test_ten_thousand_users(service: Service) -> None:
    users = [user(number, f"user{number}@example.com", user_pass=PHPASS) for number in range(1, 10_001)]

    report = await move(service, *users)
    again = await move(service, *users)

    assert (counts(report), counts(again)) == ((10_000, 0, 0), (0, 10_000, 0))
    assert (await sign_in(service, "user10000@example.com", HASHED)).status_code == 200
