"""Moving in from Auth0: users of an export job, with the files of password hashes and MFA secrets of its support."""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyotp
import pytest

from domain.data_import.eligibility import Field
from server.crypto import foreign_hashes
from server.database.sqlite.temporary_map import temporary_map
from server.importers.auth0 import Auth0, Credentials
from server.importers.report import Report
from server.importers.source import SourceRefused
from tests.docs.typing_in import guide, write_files
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.labs.provider.process import ProviderProcess
from tests.security import second_factor
from tests.server.importers.guides import follow
from tests.server.importers.moving import HASH, HASHED, counts, take
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-auth0")
ADA, BOB = "ada@example.com", "bob@example.com"
CONNECTION = "Username-Password-Authentication"
OID = "60425dc43519d90068f82973"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

Line = Mapping[str, Any]


def database(id_: str = OID, connection: str = CONNECTION) -> dict[str, Any]:
    return {"provider": "auth0", "user_id": id_, "connection": connection, "isSocial": False}


def user(email: str = ADA, **more: Any) -> dict[str, Any]:
    return {"user_id": f"auth0|{OID}", "email": email, "identities": [database()], **more}


def password(id_: object = None, **more: Any) -> dict[str, Any]:
    """Return a line of the file of password hashes, as Auth0's support describes it."""
    return {
        "_id": {"$oid": OID} if id_ is None else id_, "email": ADA, "email_verified": True, "passwordHash": HASH,
        "password_set_date": {"$date": "2019-12-06T18:36:12.412Z"}, "tenant": "shop", "connection": CONNECTION,
        "_tmp_is_unique": True, **more,
    }  # fmt: skip


def written(lines: Sequence[Line | str]) -> BytesIO:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return BytesIO("".join(f"{text}\n" for text in texts).encode())


async def move(
    service: Service,
    users: Sequence[Line | str],
    *without: Field,
    passwords: Sequence[Line | str] | None = None,
    factors: Sequence[Line | str] | None = None,
) -> Report:
    with temporary_map() as kept:
        credentials = Credentials(kept)
        if passwords is not None:
            await credentials.read_passwords(written(passwords))
        if factors is not None:
            await credentials.read_factors(written(factors))
        source = Auth0(written(users), credentials)
        return await take(service, source, *without, roles=["editor", "author"])


class TestUsers:
    async def test_names_roles_blocks_and_times_stay(self, service: Service) -> None:
        users = [
            user(
                name=ADA, given_name="Ada", family_name="Lovelace", nickname="ada", username="ada_l",
                email_verified=True, picture="https://example.com/ada.png", created_at="2021-03-05T16:35:16.775Z",
                app_metadata={"roles": ["editor", "author"]}, user_metadata={"role": "admin"}, logins_count=7,
            ),
            user(BOB, user_id="auth0|b", identities=[database("b")], name=BOB, nickname="bobby", blocked=True),
        ]  # fmt: skip

        report = await move(service, users, passwords=[password(), password("b")])

        session, blocked = [await sign_in(service, email, HASHED) for email in (ADA, BOB)]
        ada = await user_of(service, bearer(session.json()["token"]))
        [bob] = await service.rows('SELECT name FROM "user" WHERE email = :email', email=BOB)
        assert counts(report) == (2, 0, 0)
        assert (ada["name"], ada["username"], ada["role"]) == ("Ada Lovelace", "ada_l", "editor,author")
        assert (ada["emailVerified"], ada["image"]) == (True, "https://example.com/ada.png")
        assert ada["createdAt"] == "2021-03-05T16:35:16.775Z"
        assert refusal(blocked)[:2] == (403, "BANNED_USER")
        assert bob.name == "bobby"

    async def test_the_same_files_again(self, service: Service) -> None:
        first = await move(service, [user()], passwords=[password()])
        again = await move(service, [user()], passwords=[password()])

        assert (counts(first), counts(again)) == ((1, 0, 0), (0, 1, 0))

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ({"Id": "auth0|1", "Email": ADA}, "user_id: is missing: add it to the fields of the export job"),
            ({"user_id": "auth0|1", "email": ADA}, "identities: is missing: add it to the fields of the export job"),
            (user(email="", phone_number="+4912345"), "email: is missing: the user signs in without an email address"),
            ("[", "line: is not JSON"),
        ],
    )  # fmt: skip
    async def test_lines_that_are_refused(self, service: Service, line: Line | str, reason: str) -> None:
        report = await move(service, [line])

        assert dict(report.refused) == {reason: 1}


class TestPasswords:
    async def test_a_user_without_a_hash_is_refused(self, service: Service) -> None:
        no_file = await move(service, [user()])
        no_line = await move(service, [user()], passwords=[password("other")])
        left = await move(service, [user()], Field.PASSWORD)

        assert dict(no_file.refused) == {"passwordHash: is missing: pass --password-file": 1}
        assert dict(no_line.refused) == {"passwordHash: is not in the file of password hashes": 1}
        assert counts(left) == (1, 0, 0)

    async def test_hashes_are_found_by_the_connection_and_the_id(self, service: Service) -> None:
        users = [
            user(user_id="auth0|euclid", identities=[database("euclid")]),
            user(BOB, user_id="auth0|shop|euclid", identities=[database("euclid", "shop")]),
        ]
        hashes = [
            password(alt_id="euclid", passwordHash=HASH),
            password("another", alt_id="euclid", passwordHash=None, connection="shop"),
        ]

        report = await move(service, users, passwords=hashes)

        assert dict(report.refused) == {"passwordHash: is not in the file of password hashes": 1}
        assert (await sign_in(service, ADA, HASHED)).status_code == 200

    async def test_a_hash_of_a_linked_identity(self, service: Service) -> None:
        google = {
            "provider": "google-oauth2",
            "user_id": "1234",
            "connection": "google-oauth2",
            "isSocial": True,
        }
        linked = user(user_id="google-oauth2|1234", identities=[google, database()])

        report = await move(service, [linked], Field.ACCOUNTS, passwords=[password(OID)])

        assert counts(report) == (1, 0, 0)
        assert dict(report.left) == {"accounts: google is not a configured provider": 1}
        assert (await sign_in(service, ADA, HASHED)).status_code == 200

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{", "--password-file: line 2: line: is not JSON"),
            (
                {"user_id": "auth0|1", "password": "x"},
                "--password-file: line 2: line: needs _id and connection, as in Auth0's export of password hashes",
            ),
        ],
    )
    async def test_another_file_stops_the_import(
        self, service: Service, line: Line | str, reason: str
    ) -> None:
        with pytest.raises(SourceRefused) as caught:
            await move(service, [user()], passwords=[password(), line])

        assert str(caught.value) == reason
        assert await service.rows('SELECT id FROM "user"') == []


class TestSecondFactors:
    async def test_a_secret_and_what_is_none(self, service: Service) -> None:
        users = [
            user(multifactor=["guardian"]),
            user(BOB, user_id="auth0|b", identities=[database("b")], multifactor=["guardian"]),
        ]
        factors = [
            {"user_id": f"auth0|{OID}", "tenant": "shop", "type": "recovery-code", "recovery_code": HASH},
            {"user_id": f"auth0|{OID}", "tenant": "shop", "type": "otp", "otp_secret": SECRET},
            {"user_id": "auth0|b", "tenant": "shop", "type": "sms", "phone_number": "+4912345"},
        ]

        report = await move(service, users, passwords=[password(), password("b")], factors=factors)

        ada, bob = [await sign_in(service, email, HASHED) for email in (ADA, BOB)]
        code = pyotp.TOTP(SECRET).at(service.clock.now)
        entered = await second_factor.enter(service, "totp", code, bearer(ada.json()["token"]))
        assert counts(report) == (2, 0, 0)
        assert entered.status_code == 200
        assert bob.json()["twoFactorMethods"] == ["otp"]

    async def test_a_user_whose_secret_is_missing_is_refused(self, service: Service) -> None:
        enrolled = [user(multifactor=["guardian"])]
        code = {"user_id": f"auth0|{OID}", "tenant": "shop", "type": "recovery-code", "recovery_code": HASH}

        no_file = await move(service, enrolled, passwords=[password()])
        no_line = await move(service, enrolled, passwords=[password()], factors=[code])

        assert dict(no_file.refused) == {"twoFactor: is on: pass --mfa-file": 1}
        assert dict(no_line.refused) == {"twoFactor: is on, and is not in the file of MFA secrets": 1}


class TestAccounts:
    async def test_social_and_custom_connections(self, target: Service, provider: ProviderProcess) -> None:
        custom = {"provider": "oauth2", "user_id": "test|ada-1", "connection": "test", "isSocial": True}
        enterprise = {"provider": "oidc", "user_id": "test|bob-1", "connection": "test", "isSocial": False}
        github = {"provider": "github", "user_id": 5000, "connection": "github", "isSocial": True}
        code = {"provider": "email", "user_id": "5f7c", "connection": "email", "isSocial": False}
        users = [
            user(user_id="oauth2|test|ada-1", identities=[custom, code]),
            user(BOB, user_id="oidc|test|bob-1", identities=[enterprise]),
            user("eve@example.com", user_id="github|5000", identities=[github]),
        ]

        report = await move(target, users)

        token = provider.mint(claims={"sub": "bob-1", "email": "else@example.com"})
        answer = await target.post("/sign-in/social", {"provider": "test", "idToken": token})
        stored = await target.rows("SELECT account_id FROM account WHERE provider_id = 'test'")
        assert dict(report.refused) == {"accounts: github is not a configured provider": 1}
        assert {row.account_id for row in stored} == {"ada-1", "bob-1"}
        assert answer.json()["user"]["email"] == BOB


class TestGuide:
    """The guide, with its files and commands."""

    def test_the_steps(self, run: Run, tmp_path: Path) -> None:
        write_files(GUIDE, tmp_path)

        follow(run, GUIDE, "Rehearse")
        follow(run, GUIDE, "Switch")
        [hashed] = [line["passwordHash"] for line in lines(tmp_path / "passwords.json")]

        shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
        assert shown in lines(tmp_path / "ids.jsonl")
        assert foreign_hashes.matches("seven red bicycles", hashed)
        assert "/callback/google" in run("providers", "list").stdout
        requested = {
            field["name"] for field in json.loads((tmp_path / "job.json").read_text("utf-8"))["fields"]
        }
        assert requested >= {name for line in lines(tmp_path / "users.json") for name in line}


@pytest.mark.long
async def test_ten_thousand_users(service: Service) -> None:
    ids = [f"{number:024x}" for number in range(10_000)]
    users = [
        user(f"user{id_}@example.com", user_id=f"auth0|{id_}", identities=[database(id_)]) for id_ in ids
    ]

    report = await move(service, users, passwords=[password({"$oid": id_}) for id_ in reversed(ids)])

    assert counts(report) == (10_000, 0, 0)
    assert (await sign_in(service, f"user{ids[-1]}@example.com", HASHED)).status_code == 200
