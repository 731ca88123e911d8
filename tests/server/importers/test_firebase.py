"""Moving in from Firebase: what `firebase auth:export` and its API write, with hashes of a project."""

import base64
import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from domain.data_import.eligibility import Field
from server.importers.firebase import Firebase, HashParameters, parse_parameters
from server.importers.report import Report
from server.importers.source import SourceRefused
from tests.conftest import MakeService
from tests.docs.typing_in import BASE, commands, guide, typed, write_files
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.live import serving
from tests.security import second_factor
from tests.server.importers.guides import follow
from tests.server.importers.moving import counts, parsed, take
from tests.server.terminal import Run, complaint, lines
from tests.service import Service

GUIDE = guide("import-firebase")
ADA, BOB = "ada@example.com", "bob@example.com"
PASSWORD = "user1password"
# The parameters, the salt and the hash of https://github.com/firebase/scrypt/blob/main/README.md.
CONSOLE = """
hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}
"""
PARAMETERS = parse_parameters(CONSOLE)
HASHED = {
    "passwordHash": "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
    "salt": "42xEC+ixf3L2lw==",
}
GOOGLE = {"providerId": "google.com", "rawId": "110", "email": ADA, "displayName": "Ada", "photoUrl": ""}
USER = {
    "localId": "kYi4EvWQlQTKSfnJ3dRSP6IH3ed2", "email": ADA, "emailVerified": True, **HASHED, "displayName": "Ada L.",
    "photoUrl": "https://example.com/ada.png", "lastSignedInAt": "1700000000000", "createdAt": "1508893925000",
    "disabled": False, "customAttributes": '{"role":"editor","admin":true}', "providerUserInfo": [GOOGLE],
}  # fmt: skip
CSV_ROW = [
    "kYi4EvWQlQTKSfnJ3dRSP6IH3ed2", ADA, "true", HASHED["passwordHash"], HASHED["salt"], "Lovelace, Ada",
    "https://example.com/ada.png", "110", ADA, "Ada", "", *[""] * 8, "42", "", "", "", "1508893925000", "1700000000000",
    "+431", "false", '{"role":"editor"}', "",
]  # fmt: skip


@pytest.fixture
async def target(make_service: MakeService) -> Service:
    """A service with two providers, and a role."""
    keys = {"client_id": "id", "client_secret": "secret"}
    providers = {
        f"providers.{id_}.{key}": value
        for id_ in ("google", "github")
        for key, value in {**keys, "preset": id_}.items()
    }
    return await make_service({**providers, "admin.roles": '{"editor": {}}'})


async def move(
    service: Service,
    path: Path,
    users: Iterable[Mapping[str, Any]] | str,
    *without: Field,
    parameters: HashParameters | None = PARAMETERS,
    roles: tuple[str, ...] = (),
) -> Report:
    """Import users in JSON, or a file with a text."""
    text = users if isinstance(users, str) else json.dumps({"users": list(users)})
    with written(path, text).open("rb") as file:
        return await take(service, Firebase(file, parameters), *without, roles=roles)


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding)
    return path


@pytest.fixture
def dialect() -> str:
    """One database: every import uses the same statements."""
    return "sqlite"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users"


class TestUsers:
    async def test_every_field(self, target: Service, file: Path) -> None:
        report = await move(target, file, [USER], roles=("editor",))

        session = await sign_in(target, ADA, PASSWORD)
        user = await user_of(target, bearer(session.json()["token"]))
        assert counts(report) == (1, 0, 0)
        assert (user["name"], user["image"], user["emailVerified"], user["role"], user["createdAt"]) == (
            "Ada L.", "https://example.com/ada.png", True, "editor", "2017-10-25T01:12:05.000Z",
        )  # fmt: skip
        stored = await target.rows(
            "SELECT provider_id, account_id, password FROM account ORDER BY provider_id"
        )
        assert [row[:2] for row in stored] == [("credential", user["id"]), ("google", "110")]
        assert stored[0].password.startswith("$argon2id$")

    async def test_the_signer_key_is_not_stored(self, target: Service, file: Path) -> None:
        await move(target, file, [USER])

        [stored] = await target.rows("SELECT password FROM account WHERE password IS NOT NULL")
        assert stored.password.startswith("$firebase-scrypt$ln=14,r=8,p=1$")
        assert not any(
            text[:16] in stored.password for text in (PARAMETERS.signer_key, HASHED["passwordHash"])
        )

    async def test_claims_are_roles_only_if_they_are_named(self, target: Service, file: Path) -> None:
        claims = {
            "a": '{"roles":["editor"]}', "b": '{"editor":true}', "c": '{"editor":"true"}', "d": '{"admin":true}',
            "e": "no JSON", "f": None,
        }  # fmt: skip
        users = [
            {"localId": name, "email": f"{name}@example.com", "customAttributes": text}
            for name, text in claims.items()
        ]

        await move(target, file, users, roles=("editor",))

        stored = await target.rows('SELECT role FROM "user" ORDER BY email')
        assert [row.role for row in stored] == ["editor", "editor", *["user"] * 4]

    async def test_disabled_users_cannot_sign_in(self, target: Service, file: Path) -> None:
        await move(target, file, [{**USER, "disabled": True}])

        assert refusal(await sign_in(target, ADA, PASSWORD))[:2] == (403, "BANNED_USER")

    async def test_a_second_factor_becomes_codes_by_email(self, target: Service, file: Path) -> None:
        phone = {"mfaEnrollmentId": "1", "phoneInfo": "+4312345", "enrolledAt": "2024-01-01T00:00:00Z"}

        await move(target, file, [{**USER, "mfaInfo": [phone]}])

        assert second_factor.is_pending(await sign_in(target, ADA, PASSWORD))

    async def test_who_has_no_address(self, target: Service, file: Path) -> None:
        anonymous = {"localId": "1", "createdAt": "1508893925000"}
        by_phone = {"localId": "2", "phoneNumber": "+4312345"}

        report = await move(target, file, [anonymous, by_phone])

        assert dict(report.left_out) == {"anonymous users": 1}
        assert dict(report.refused) == {"email: is missing: the user signs in without one": 1}


class TestFormats:
    async def test_csv(self, target: Service, file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="") as written:
            writer = csv.writer(written, lineterminator="\n")
            writer.writerows([CSV_ROW, [*CSV_ROW[:27], ""], ["x"], [*CSV_ROW, ""]])

        with file.open("rb") as stream:
            report = await take(target, Firebase(stream, PARAMETERS), roles=["editor"])

        session = await sign_in(target, ADA, PASSWORD)
        user = await user_of(target, bearer(session.json()["token"]))
        assert counts(report) == (1, 1, 2)
        assert (user["name"], user["role"], user["emailVerified"]) == ("Lovelace, Ada", "editor", True)
        assert dict(report.refused) == {
            "line: does not have the columns of an export: use the JSON format": 2
        }
        stored = await target.rows(
            "SELECT provider_id, account_id FROM account WHERE password IS NULL ORDER BY provider_id"
        )
        assert [tuple(row) for row in stored] == [("github", "42"), ("google", "110")]

    async def test_pages_of_the_api(self, target: Service, file: Path) -> None:
        page = {"kind": "identitytoolkit#DownloadAccountResponse", "nextPageToken": "x"}
        url_safe = {name: value.replace("+", "-").replace("/", "_") for name, value in HASHED.items()}
        own = [{"providerId": name, "rawId": "x"} for name in ("password", "phone")]
        first = {**page, "users": [{**USER, **url_safe, "version": 0, "providerUserInfo": own}]}
        second = {**page, "users": [{"localId": "2", "email": BOB, "passwordHash": "AAAA", "version": 3}]}

        report = await move(target, file, json.dumps(first) + "\n" + json.dumps(second))

        assert (await sign_in(target, ADA, PASSWORD)).status_code == 200
        assert dict(report.refused) == {"passwordHash: is in the format of another program": 1}

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ('{"users": [{"localId": "1"}', "damaged or cut off"),
            ('{"users": [\xff]}', "damaged or cut off"),
            ('{"users": []}', "has no users"),
            ('{"accounts": [{}]}', "has no users"),
            ("", "has no users"),
        ],
    )
    async def test_other_files_are_refused(self, file: Path, text: str, reason: str) -> None:
        with written(file, text, "latin-1").open("rb") as stream, pytest.raises(SourceRefused, match=reason):
            await parsed(Firebase(stream, None))

    async def test_what_is_whole_before_a_break_is_imported(self, service: Service, file: Path) -> None:
        users = json.dumps(
            {"users": [{"localId": str(number), "email": f"u{number}@example.com"} for number in range(250)]}
        )

        with pytest.raises(SourceRefused, match="cut off"):
            await move(service, file, users[:-40])
        report = await move(service, file, users)

        assert counts(report) == (50, 200, 0)

    async def test_a_redacted_hash_is_named(self, file: Path) -> None:
        redacted = base64.b64encode(b"REDACTED").decode()

        with written(file, json.dumps({"users": [{**USER, "passwordHash": redacted}]})).open("rb") as stream:
            [reason] = await parsed(Firebase(stream, PARAMETERS))

        assert reason == "passwordHash: is redacted: export as an owner of the project"

    async def test_odd_values_refuse_their_row_alone(self, file: Path) -> None:
        users = [
            "text", {"email": ADA}, {"localId": "1", "email": 5}, {"localId": "2", "email": ADA, "disabled": "no"},
            {"localId": "3", "email": ADA, "createdAt": "soon"},
            {"localId": "4", "email": ADA, "providerUserInfo": [5]},
            {"localId": {}, "email": ADA}, {"localId": "5", "email": BOB, "passwordHash": 5, "salt": []},
            {"localId": "6", "email": BOB, "displayName": 5},
        ]  # fmt: skip

        with written(file, json.dumps({"users": users})).open("rb") as stream:
            found = await parsed(Firebase(stream, PARAMETERS))

        assert [str(each).partition(":")[0].partition("(")[0] for each in found] == [
            "users", "localId", "email", "banned", "createdAt", "accounts", "localId", "passwordHash", "ImportedUser",
        ]  # fmt: skip


class TestHashParameters:
    async def test_without_them_passwords_are_refused(self, service: Service, file: Path) -> None:
        user = {key: value for key, value in USER.items() if key != "providerUserInfo"}

        refused = await move(service, file, [user], parameters=None)
        left = await move(service, file, [user], Field.PASSWORD, parameters=None)

        assert dict(refused.refused) == {"passwordHash: needs the hash parameters: pass --hash-parameters": 1}
        assert counts(left) == (1, 0, 0)

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("base64_signer_key", "key", "has no base64_signer_key"),
            ("rounds: 8,", "", "has no rounds"),
            ("SCRYPT", "HMAC_SHA256", "the algorithm is HMAC_SHA256"),
        ],
    )
    def test_an_incomplete_file_is_refused(self, old: str, new: str, reason: str) -> None:
        with pytest.raises(ValueError, match=reason):
            parse_parameters(CONSOLE.replace(old, new))

    @pytest.mark.parametrize("key", ["AAAA", "not base64", f"{PARAMETERS.signer_key[:-12]}"])
    async def test_a_wrong_key_is_noticed_by_its_length(self, file: Path, key: str) -> None:
        broken = HashParameters(key, PARAMETERS.salt_separator, "8", "14")

        with written(file, json.dumps({"users": [USER]})).open("rb") as stream:
            [reason] = await parsed(Firebase(stream, broken))

        assert str(reason).startswith("passwordHash: is damaged")

    def test_the_key_is_not_shown(self) -> None:
        assert PARAMETERS.signer_key not in repr(PARAMETERS)


def test_what_cannot_be_begun(run: Run, tmp_path: Path) -> None:
    written(tmp_path / "users.json", '{"users": [{"localId": "1", "email": "ada@example.com"}]}')
    written(tmp_path / "parameters.txt", "algorithm: SCRYPT")

    unknown_role = run("import", "firebase", "users.json", "--role", "editor")
    incomplete = run("import", "firebase", "users.json", "--hash-parameters", "parameters.txt")

    assert unknown_role.exit_code == 1
    assert complaint(unknown_role.stderr) == "--role: editor is not one of admin.roles"
    assert incomplete.exit_code == 2
    assert "has no base64_signer_key" in incomplete.stderr
    for words in (["firebase", "absent.json"], ["keycloak", "absent"], ["cognito", "."], ["keycloak", "."]):
        assert run("import", *words).exit_code in (1, 2), words


def test_the_guide(run: Run, tmp_path: Path) -> None:
    write_files(GUIDE, tmp_path)

    follow(run, GUIDE, "Rehearse")
    follow(run, GUIDE, "Switch")

    shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
    assert shown in lines(tmp_path / "ids.jsonl")
    assert "/callback/google" in run("providers", "list").stdout
    with serving(tmp_path, {}) as live:
        signed_in = typed(commands(GUIDE, "sign-in").replace(BASE, live.url), tmp_path)
    assert json.loads(signed_in)["user"]["name"] == "Ada Lovelace"


@pytest.mark.long
async def test_ten_thousand_users_keep_their_passwords(service: Service, file: Path) -> None:
    key, salts = bytes(range(64)), [hashlib.sha256(b"%d" % number).digest()[:10] for number in range(10_000)]
    cheap = HashParameters(base64.b64encode(key).decode(), "Bw==", "1", "1")
    users = [
        {
            "localId": f"{number:028}", "email": f"user{number}@example.com", "emailVerified": True,
            "createdAt": "1508893925000", "salt": base64.b64encode(salt).decode(),
            "passwordHash": encrypted(f"password {number}", salt + b"\x07", key),
        }
        for number, salt in enumerate(salts)
    ]  # fmt: skip

    report = await move(service, file, users, parameters=cheap)
    again = await move(service, file, users, parameters=cheap)

    last = await sign_in(service, "user9999@example.com", "password 9999")
    wrong = await sign_in(service, "user9998@example.com", "password 9999")
    assert (counts(report), counts(again)) == ((10_000, 0, 0), (0, 10_000, 0))
    assert (last.status_code, wrong.status_code) == (200, 401)


def encrypted(password: str, salt: bytes, key: bytes) -> str:
    """Return a hash as the program of https://github.com/firebase/scrypt prints it, with the least cost."""
    derived = hashlib.scrypt(password.encode(), salt=salt, n=2, r=1, p=1, dklen=32)
    return base64.b64encode(Cipher(AES(derived), CTR(bytes(16))).encryptor().update(key)).decode()
