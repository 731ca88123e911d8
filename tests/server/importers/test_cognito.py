"""Moving in from Amazon Cognito: what `aws cognito-idp list-users` prints, and the CSV format of user pools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from domain.data_import.eligibility import Field, ImportedUser, SecondFactor
from server.importers.cognito import Cognito
from server.importers.report import Report
from server.importers.source import SourceRefused
from tests.conftest import MakeService
from tests.docs.typing_in import guide, write_files
from tests.handlers.steps import refusal, reset_token, sign_in
from tests.server.importers.guides import follow
from tests.server.importers.moving import counts, parsed, take
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-cognito")
PASSWORD = "a new long password"
ADA, BOB = "ada@example.com", "bob@example.com"
SUB = "7d8ca528-4931-4254-9273-ea5ee853f271"
HEADER = (
    "cognito:username,name,given_name,family_name,middle_name,nickname,preferred_username,profile,picture,website,email,"
    "email_verified,gender,birthdate,zoneinfo,locale,phone_number,phone_number_verified,address,updated_at,"
    "cognito:mfa_enabled"
)
IDENTITIES = json.dumps(
    [
        {"dateCreated": "1700000000000", "userId": "110", "providerName": name, "providerType": name, "issuer": None,
         "primary": "true"}
        for name in ("Google", "SignInWithApple")
    ]
)  # fmt: skip


def user(username: str, attributes: Mapping[str, str], **more: object) -> dict[str, Any]:
    """Return a user as the command prints one."""
    return {
        "Username": username,
        "Attributes": [{"Name": name, "Value": value} for name, value in attributes.items()],
        "UserCreateDate": "2024-01-31T12:00:00.123000+00:00",
        "UserLastModifiedDate": "2024-02-01T12:00:00+00:00",
        "Enabled": True,
        "UserStatus": "CONFIRMED",
        **more,
    }


ADA_USER = user(
    "ada",
    {"sub": SUB, "email": ADA, "email_verified": "true", "given_name": "Ada", "family_name": "Lovelace",
     "picture": "https://example.com/ada.png", "locale": "de-AT", "custom:plan": "free"},
)  # fmt: skip


@pytest.fixture
def dialect() -> str:
    """One database: every import uses the same statements."""
    return "sqlite"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users"


async def move(service: Service, path: Path, text: str, *without: Field) -> Report:
    with written(path, text).open("rb") as file:
        return await take(service, Cognito(file), *without)


async def read(path: Path, *users: object) -> list[ImportedUser | str]:
    """Return each user, or why it is refused before any database is asked."""
    with written(path, json.dumps({"Users": users})).open("rb") as file:
        return await parsed(Cognito(file))


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


class TestUsers:
    async def test_every_field(self, service: Service, file: Path) -> None:
        report = await move(service, file, json.dumps({"Users": [ADA_USER]}))

        [stored] = await service.rows('SELECT * FROM "user"')
        assert counts(report) == (1, 0, 0)
        assert (stored.id, stored.email, stored.name, stored.username, stored.image, stored.locale) == (
            SUB.replace("-", ""), ADA, "Ada Lovelace", "ada", "https://example.com/ada.png", "de",
        )  # fmt: skip
        assert bool(stored.email_verified)
        assert not stored.two_factor_enabled
        assert await service.rows("SELECT id FROM account") == []

    @pytest.mark.parametrize(
        ("username", "status", "preferred", "kept"),
        [
            ("ada", "CONFIRMED", None, "ada"),
            (SUB, "CONFIRMED", None, None),
            (SUB, "CONFIRMED", "ada_l", "ada_l"),
            (ADA, "CONFIRMED", None, None),
            ("+4312345", "CONFIRMED", None, None),
            ("Google_110", "EXTERNAL_PROVIDER", None, None),
        ],
    )
    async def test_only_chosen_usernames_are_kept(
        self, file: Path, username: str, status: str, preferred: str | None, kept: str | None
    ) -> None:
        attributes = {"sub": SUB, "email": ADA, **({"preferred_username": preferred} if preferred else {})}

        [found] = await read(file, user(username, attributes, UserStatus=status))

        assert isinstance(found, ImportedUser)
        assert found.username == kept

    async def test_accounts_at_providers(self, make_service: MakeService, file: Path) -> None:
        settings = {"preset": "google", "client_id": "id", "client_secret": "secret"}
        service = await make_service({f"providers.google.{key}": value for key, value in settings.items()})
        both = user("Google_110", {"sub": SUB, "email": ADA, "identities": IDENTITIES})

        refused = await move(service, file, json.dumps({"Users": [both]}))
        with file.open("rb") as stream:
            taken = await take(service, Cognito(stream), providers=["apple"])

        [stored] = await service.rows("SELECT provider_id, account_id FROM account")
        assert dict(refused.refused) == {"accounts: apple is not a configured provider": 1}
        assert counts(taken) == (1, 0, 0)
        assert tuple(stored) == ("google", "110")

    @pytest.mark.parametrize(
        ("more", "reason"),
        [
            ({"Enabled": False}, "Disabled in Cognito"),
            ({"UserStatus": "COMPROMISED"}, "Compromised in Cognito"),
        ],
    )
    async def test_disabled_users_are_banned(self, file: Path, more: dict[str, object], reason: str) -> None:
        [found] = await read(file, {**ADA_USER, **more})

        assert isinstance(found, ImportedUser)
        assert (found.banned, found.ban_reason) == (True, reason)

    @pytest.mark.parametrize(
        "more",
        [
            {"MFAOptions": [{"DeliveryMedium": "SMS", "AttributeName": "phone_number"}]},
            {"UserMFASettingList": ["SOFTWARE_TOKEN_MFA"]},
        ],
    )
    async def test_a_second_factor_becomes_codes_by_email(self, file: Path, more: dict[str, object]) -> None:
        [found] = await read(file, {**ADA_USER, **more})

        assert isinstance(found, ImportedUser)
        assert found.second_factor == SecondFactor(None)

    async def test_odd_values_refuse_their_row_alone(self, file: Path) -> None:
        users = [
            "text", {"Username": "ada"}, user("ada", {"sub": SUB, "phone_number": "+431"}),
            user("ada", {"email": ADA, "email_verified": "perhaps"}), user("ada", {"email": ADA}, Enabled="no"),
            user("ada", {"email": ADA}, UserCreateDate="soon"), user("ada", {"email": ADA, "identities": "[5]"}),
            user("bob", {"email": BOB, "identities": "none"}, UserCreateDate=1706702400.123),
        ]  # fmt: skip

        found = await read(file, *users)

        assert [str(each).partition(":")[0].partition("(")[0] for each in found] == [
            "Attributes", "Attributes", "email", "emailVerified", "banned", "createdAt", "accounts", "ImportedUser",
        ]  # fmt: skip


class TestFormats:
    @pytest.mark.parametrize(
        "text",
        [
            json.dumps({"Users": [ADA_USER]}) + json.dumps({"Users": [user("bob", {"email": BOB})]}),
            json.dumps([ADA_USER, user("bob", {"email": BOB})], indent=4),
            f"{json.dumps(ADA_USER)}\n{json.dumps(user('bob', {'email': BOB}))}\n",
            f"{HEADER}\nada,Ada,,,,,,,,,{ADA},TRUE,,,,de,,FALSE,,,FALSE\nbob,,,,,,,,,,{BOB},,,,,,,,,,\n",
        ],
        ids=["pages", "list", "lines", "csv"],
    )
    async def test_each(self, service: Service, file: Path, text: str) -> None:
        report = await move(service, file, text)
        again = await move(service, file, text)

        stored = await service.rows('SELECT email, email_verified, username FROM "user" ORDER BY email')
        assert (counts(report), counts(again)) == ((2, 0, 0), (0, 2, 0))
        assert [(row.email, bool(row.email_verified), row.username) for row in stored] == [
            (ADA, True, "ada"), (BOB, False, "bob"),
        ]  # fmt: skip

    async def test_csv_with_further_columns(self, service: Service, file: Path) -> None:
        rows = f"{SUB},{SUB},{ADA},true,TRUE\nx,{ADA}\n"

        report = await move(
            service, file, f"cognito:username,sub,email,email_verified,cognito:mfa_enabled\n{rows}"
        )

        [stored] = await service.rows('SELECT id, username, two_factor_enabled FROM "user"')
        assert (stored.id, stored.username, bool(stored.two_factor_enabled)) == (
            SUB.replace("-", ""),
            None,
            True,
        )
        assert dict(report.refused) == {"line: has 2 cells, and the header has 5": 1}

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "no column cognito:username"),
            ("cognito:username,name\n", "no column email"),
            ('{"Users": []}', "has no users"),
            ('{"Users": [{"Username"', "damaged or cut off"),
        ],
    )
    async def test_other_files_are_refused(self, file: Path, text: str, reason: str) -> None:
        with pytest.raises(SourceRefused, match=reason), written(file, text).open("rb") as stream:
            await parsed(Cognito(stream))


async def test_the_first_sign_in_is_a_password_reset(service: Service, file: Path) -> None:
    await move(service, file, json.dumps({"Users": [ADA_USER]}))
    before = await sign_in(service, ADA, PASSWORD)

    await service.post("/reset-password", {"token": await reset_token(service, ADA), "newPassword": PASSWORD})

    after = await sign_in(service, ADA, PASSWORD)
    assert refusal(before)[:2] == (401, "INVALID_EMAIL_OR_PASSWORD")
    assert after.status_code == 200


def test_the_guide(run: Run, tmp_path: Path) -> None:
    write_files(GUIDE, tmp_path)

    follow(run, GUIDE, "Rehearse")
    follow(run, GUIDE, "Switch")

    shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
    assert shown in lines(tmp_path / "ids.jsonl")
    assert "/callback/google" in run("providers", "list").stdout


@pytest.mark.long
async def test_ten_thousand_users(service: Service, file: Path) -> None:
    users = [
        user(
            f"user{number}",
            {"sub": f"00000000-0000-4000-8000-{number:012}", "email": f"user{number}@example.com"},
        )
        for number in range(10_000)
    ]
    text = json.dumps({"Users": users})

    report = await move(service, file, text)
    again = await move(service, file, text)

    assert (counts(report), counts(again)) == ((10_000, 0, 0), (0, 10_000, 0))
