"""Moving in from Keycloak: what `kc.sh export` writes, as one file and as a folder."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import cbor2
import pytest
from passlib.totp import TOTP

from domain.data_import.eligibility import Field, ImportedUser
from server.database.sqlite.temporary_map import temporary_map
from server.importers import run
from server.importers.keycloak import Keycloak, find_files
from server.importers.report import Report
from server.importers.source import SourceRefused
from tests.authenticator import UP, UV, Authenticator
from tests.conftest import MakeService
from tests.docs.typing_in import guide, write_files
from tests.handlers import passkey_steps
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.security import second_factor
from tests.server.importers.guides import follow
from tests.server.importers.moving import counts, parsed, rules
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-keycloak")
ADA, GRACE = "ada@example.com", "grace@example.com"
ADA_ID, GRACE_ID = "3f2b8c1e-9a4d-4c7b-8e5f-1a2b3c4d5e6f", "7d1e5b2a-6c3f-4e8d-9b0a-2c4d6e8f0a1b"
PASSWORD = "seven red bicycles"
"""Keycloak 26 has hashed it by argon2, and earlier versions by PBKDF2."""
ARGON2: dict[str, Any] = {
    "type": "password",
    "createdDate": 1706702400000,
    "secretData": json.dumps(
        {"value": "2BnVGgFdGK+lqeJNWlA3TapSzdVxr92rREHcvL/Zsp8=", "salt": "RJ0aLMQ2qKbZuROs7qQhcA==",
         "additionalParameters": {}}
    ),
    "credentialData": json.dumps(
        {"hashIterations": 5, "algorithm": "argon2", "additionalParameters": {
            "hashLength": ["32"], "memory": ["7168"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"]}}
    ),
}  # fmt: skip
USER = {
    "id": ADA_ID, "username": "ada", "email": ADA, "emailVerified": True, "firstName": "Ada", "lastName": "Lovelace",
    "enabled": True, "totp": False, "createdTimestamp": 1706702400000, "credentials": [ARGON2], "notBefore": 0,
    "disableableCredentialTypes": [], "requiredActions": [], "groups": ["/staff"],
    "realmRoles": ["default-roles-shop", "offline_access", "editor", "admin"],
    "attributes": {"locale": ["de"], "picture": ["https://example.com/ada.png"], "phone": ["1", "2"]},
}  # fmt: skip
GRACE_USER = {
    **USER,
    "id": GRACE_ID,
    "username": GRACE,
    "email": GRACE,
    "firstName": "Grace",
    "lastName": None,
}
ACME = {
    "id": "0e5cbb1f-2c57-4c79-b9c5-1d4dbe2ac1f0", "name": "Acme", "alias": "acme", "enabled": True,
    "attributes": {"plan": ["free"]}, "domains": [{"name": "acme.example", "verified": True}],
    "members": [{"username": "ada", "membershipType": "UNMANAGED"}],
}  # fmt: skip
SECRET = "nGuJ2vKq8sXw4mRb7tYz"


def pbkdf2(algorithm: str, digest: str, rounds: int = 10, password: str = PASSWORD) -> dict[str, Any]:
    """Return a credential as Keycloak stores it, with 64 bytes of key."""
    key = hashlib.pbkdf2_hmac(digest, password.encode(), b"salt of 16 bytes", rounds, 64)
    encoded = {
        "value": base64.b64encode(key).decode(),
        "salt": base64.b64encode(b"salt of 16 bytes").decode(),
    }
    about = {"hashIterations": rounds, "algorithm": algorithm, "additionalParameters": {}}
    return {"type": "password", "secretData": json.dumps(encoded), "credentialData": json.dumps(about)}


def otp(**differing: object) -> dict[str, Any]:
    about = {"subType": "totp", "digits": 6, "counter": 0, "period": 30, "algorithm": "HmacSHA1", **differing}
    return {"type": "otp", "secretData": json.dumps({"value": SECRET}), "credentialData": json.dumps(about)}


def with_credentials(*credentials: Mapping[str, Any], **more: object) -> dict[str, Any]:
    return {**USER, "credentials": list(credentials), **more}


def write(path: Path, users: Iterable[object], **more: object) -> Path:
    """Write a realm with its users into one file."""
    return written(path, json.dumps({"realm": "shop", "clients": [], "users": list(users), **more}))


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


async def move(
    service: Service, path: Path, *without: Field, roles: tuple[str, ...] = (), owner: str | None = None
) -> tuple[Report, Report]:
    """Import users and organizations; return the report of each."""
    users, organizations = Report(), Report()
    with temporary_map() as user_ids:
        source = Keycloak(find_files(path), user_ids, owner)
        chosen = rules(service, source.origin, *without, roles=roles)
        unit_of_work = service.services.unit_of_work
        hasher = service.services.hasher
        await run.run(unit_of_work, source, chosen, users, hasher=hasher, progress=lambda position: None)
        if source.organization_total is not None:
            await run.run_organizations(
                unit_of_work,
                source.organization_rows(chosen.now),
                chosen,
                organizations,
                progress=lambda position: None,
            )
    return users, organizations


async def read(path: Path) -> list[ImportedUser | str]:
    """Return each user, or why it is refused before any database is asked."""
    with temporary_map() as user_ids:
        return await parsed(Keycloak(find_files(path), user_ids))


@pytest.fixture
def dialect() -> str:
    """One database: every import uses the same statements."""
    return "sqlite"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "realm.json"


@pytest.fixture
async def target(make_service: MakeService) -> Service:
    """A service with a role, a provider and organizations."""
    provider = {"preset": "google", "client_id": "id", "client_secret": "secret"}
    return await make_service(
        {
            **{f"providers.google.{key}": value for key, value in provider.items()},
            "admin.roles": '{"editor": {}}',
            "organizations.enabled": "true",
        }
    )


class TestUsers:
    async def test_every_field(self, target: Service, file: Path) -> None:
        identity = {"identityProvider": "google", "userId": "110", "userName": ADA}

        report, _ = await move(
            target, write(file, [{**USER, "federatedIdentities": [identity]}]), roles=("editor",)
        )

        session = await sign_in(target, ADA, PASSWORD)
        assert counts(report) == (1, 0, 0)
        user = await user_of(target, bearer(session.json()["token"]))
        updated = user.pop("updatedAt")
        assert updated
        assert user == {
            "id": ADA_ID.replace("-", ""), "email": ADA, "emailVerified": True, "name": "Ada Lovelace",
            "image": "https://example.com/ada.png", "username": "ada", "displayUsername": "ada", "role": "editor",
            "banned": False, "banReason": None, "banExpires": None, "twoFactorEnabled": False, "locale": "de",
            "createdAt": "2024-01-31T12:00:00.000Z",
        }  # fmt: skip
        stored = await target.rows(
            "SELECT provider_id, account_id, password FROM account ORDER BY provider_id"
        )
        assert [row.provider_id for row in stored] == ["credential", "google"]
        assert stored[0].password.startswith("$argon2id$")
        assert stored[1].account_id == "110"

    async def test_an_address_as_username_is_left_out(self, target: Service, file: Path) -> None:
        await move(target, write(file, [GRACE_USER]))

        [stored] = await target.rows('SELECT name, username FROM "user"')
        assert tuple(stored) == ("Grace", None)

    async def test_disabled_users_cannot_sign_in(self, target: Service, file: Path) -> None:
        await move(target, write(file, [{**USER, "enabled": False}]))

        assert refusal(await sign_in(target, ADA, PASSWORD))[:2] == (403, "BANNED_USER")

    async def test_service_accounts_are_left_out(self, target: Service, file: Path) -> None:
        machine = {
            "id": "1",
            "username": "service-account-shop",
            "serviceAccountClientId": "shop",
            "enabled": True,
        }

        report, _ = await move(target, write(file, [machine, USER]))

        assert counts(report) == (1, 0, 0)
        assert dict(report.left_out) == {"service accounts": 1}

    async def test_odd_values_refuse_their_row_alone(self, file: Path) -> None:
        users = [
            "text", {**USER, "email": None}, {**USER, "enabled": "yes"}, {**USER, "username": "a b"},
            {**USER, "createdTimestamp": "soon"}, {**USER, "id": {}}, {**USER, "federatedIdentities": [5]},
            {**USER, "credentials": "none", "attributes": [], "realmRoles": 5, "id": GRACE_ID},
        ]  # fmt: skip

        found = await read(write(file, users))

        assert [str(each).partition(":")[0].partition("(")[0] for each in found] == [
            "users", "email", "banned", "username", "createdAt", "id", "accounts", "ImportedUser",
        ]  # fmt: skip


class TestPasswords:
    @pytest.mark.parametrize(
        ("algorithm", "digest"),
        [("pbkdf2", "sha1"), ("pbkdf2-sha256", "sha256"), ("pbkdf2-sha512", "sha512")],
    )
    async def test_pbkdf2(self, target: Service, file: Path, algorithm: str, digest: str) -> None:
        await move(target, write(file, [with_credentials(pbkdf2(algorithm, digest))]))

        right, wrong = await sign_in(target, ADA, PASSWORD), await sign_in(target, ADA, PASSWORD + "x")
        assert (right.status_code, wrong.status_code) == (200, 401)

    @pytest.mark.parametrize(
        ("user", "reason"),
        [
            (with_credentials(pbkdf2("bcrypt", "sha1")), "has the algorithm bcrypt, which is not supported"),
            (with_credentials({"type": "password", "secretData": "{}"}), "is damaged"),
            (with_credentials({**ARGON2, "secretData": '{"value":"!","salt":"!"}'}), "is damaged"),
            (
                with_credentials(
                    {**ARGON2, "credentialData": ARGON2["credentialData"].replace("1.3", "1.0")}
                ),
                "has version 1.0 of argon2",
            ),
            (
                with_credentials(
                    {**ARGON2, "credentialData": ARGON2["credentialData"].replace("7168", "71680000")}
                ),
                "costs too much to check",
            ),
            (with_credentials(federationLink="ldap"), "is kept by a user federation provider, such as LDAP"),
            (
                {**USER, "requiredActions": ["UPDATE_PASSWORD"]},
                "must be replaced at the next sign-in (UPDATE_PASSWORD)",
            ),
        ],
    )
    async def test_others_are_refused_with_the_reason(
        self, file: Path, user: Mapping[str, Any], reason: str
    ) -> None:
        assert await read(write(file, [user])) == [f"passwordHash: {reason}"]


class TestSecondFactor:
    @pytest.mark.parametrize(
        ("credential", "secret"),
        [
            (otp(), base64.b32encode(SECRET.encode()).decode()),
            (
                {**otp(secretEncoding="BASE32"), "secretData": '{"value":"JBSWY3DPEHPK3PXP"}'},
                "JBSWY3DPEHPK3PXP",
            ),
        ],
    )
    async def test_the_same_authenticator_goes_on(
        self, target: Service, file: Path, credential: Mapping[str, Any], secret: str
    ) -> None:
        key = {"type": "webauthn", "secretData": "{}", "credentialData": "{}"}
        await move(target, write(file, [with_credentials(ARGON2, otp(subType="hotp"), key, credential)]))

        pending = bearer((await sign_in(target, ADA, PASSWORD)).json()["token"])
        code = TOTP(secret).generate(target.clock.now).token
        entered = await second_factor.enter(target, "totp", code, pending)

        assert entered.status_code == 200

    @pytest.mark.parametrize(
        "differing", [{"subType": "hotp"}, {"digits": 8}, {"period": 60}, {"algorithm": "HmacSHA256"}]
    )
    async def test_other_codes_are_refused(self, file: Path, differing: dict[str, object]) -> None:
        found = await read(write(file, [with_credentials(ARGON2, otp(**differing))]))

        assert found == ["twoFactor: is no authenticator app with SHA-1, six digits and 30 seconds"]

    async def test_a_security_key_becomes_codes_by_email(self, target: Service, file: Path) -> None:
        key = {"type": "webauthn", "secretData": "{}", "credentialData": "{}"}

        await move(target, write(file, [with_credentials(ARGON2, key)]))

        assert second_factor.is_pending(await sign_in(target, ADA, PASSWORD))

    async def test_a_passkey_goes_on_working(self, target: Service, file: Path) -> None:
        device = Authenticator(flags=UP | UV, counter=6, user_handle=ADA_ID.encode())
        about = {
            "aaguid": "00000000-0000-0000-0000-000000000000", "counter": 5, "transports": ["internal"],
            "credentialId": base64.b64encode(device.credential_id).decode(),
            "credentialPublicKey": base64.urlsafe_b64encode(cbor2.dumps(device.cose_key)).decode().rstrip("="),
        }  # fmt: skip
        passkey = {
            "type": "webauthn-passwordless", "userLabel": "Phone", "createdDate": 1706702400000, "secretData": "{}",
            "credentialData": json.dumps(about),
        }  # fmt: skip

        await move(target, write(file, [with_credentials(passkey)]))

        answer = await passkey_steps.use(target, device)
        assert answer.json()["user"]["email"] == ADA, answer.text
        [row] = await target.rows("SELECT name, user_handle FROM passkey")
        assert (row.name, bytes(row.user_handle)) == ("Phone", ADA_ID.encode())


class TestFiles:
    @pytest.mark.parametrize("named", [".", "shop-realm.json"])
    async def test_a_folder(self, target: Service, tmp_path: Path, named: str) -> None:
        write(tmp_path / "shop-realm.json", [])
        for number in (10, 9, 0):
            user = {"id": str(number), "username": f"user{number}", "email": f"u{number}@example.com"}
            write(tmp_path / f"shop-users-{number}.json", [user])
        (tmp_path / "shop-federated-users-0.json").write_text(
            '{"federatedUsers": [{"id": "f:1:a"}]}', "utf-8"
        )

        report, _ = await move(target, tmp_path / named)

        assert counts(report) == (3, 0, 0)
        assert [each.name for each in find_files(tmp_path / named).users] == [
            "shop-realm.json", "shop-users-0.json", "shop-users-9.json", "shop-users-10.json",
        ]  # fmt: skip

    async def test_a_folder_with_several_realms_or_none(self, tmp_path: Path) -> None:
        with pytest.raises(SourceRefused, match=r"must have one file REALM-realm\.json, and has none"):
            find_files(tmp_path)
        for realm in ("master", "shop"):
            write(tmp_path / f"{realm}-realm.json", [])
        with pytest.raises(SourceRefused, match=r"has master-realm\.json, shop-realm\.json: name the file"):
            find_files(tmp_path)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ('{"realm": "shop", "clients": []}', "has no users"),
            ('[{"users": []}]', "has no users"),
            ("", "damaged or cut off"),
            ('{"realm": "shop", "users": [{"id"', "damaged or cut off"),
        ],
    )
    async def test_an_export_without_users(self, file: Path, text: str, reason: str) -> None:
        with pytest.raises(SourceRefused, match=reason):
            await read(written(file, text))


class TestOrganizations:
    async def test_members_come_along_under_an_owner(self, target: Service, file: Path) -> None:
        write(file, [USER, GRACE_USER], organizations=[ACME])

        _, report = await move(target, file, owner=GRACE)
        _, again = await move(target, file, owner=GRACE)

        ada = bearer((await sign_in(target, ADA, PASSWORD)).json()["token"])
        full = await target.get(
            "/organization/get-full-organization", params={"organizationSlug": "acme"}, headers=ada
        )
        assert (counts(report), counts(again)) == ((1, 0, 0), (0, 1, 0))
        assert (full.json()["name"], full.json()["metadata"]) == ("Acme", {"plan": ["free"]})
        roles = {member["userId"]: member["role"] for member in full.json()["members"]}
        assert roles == {ADA_ID.replace("-", ""): "member", GRACE_ID.replace("-", ""): "owner"}

    async def test_roles_of_later_versions(self, target: Service, file: Path) -> None:
        members = [
            {"username": "ada", "organizationRoles": ["owner"]},
            {"username": GRACE, "organizationRoles": ["x"]},
        ]
        write(file, [USER, GRACE_USER], organizations=[{**ACME, "members": members}])

        _, refused = await move(target, file)
        _, left = await move(target, file, Field.MEMBERS)

        assert dict(refused.refused) == {"members: x is not a configured role of organizations": 1}
        assert counts(left) == (1, 0, 0)

    @pytest.mark.parametrize(
        ("differing", "reason"),
        [
            ({}, "members: has no owner"),
            ({"enabled": False}, "enabled: is false: enable the organization, or leave it behind"),
            (
                {"members": [{"username": "eve", "organizationRoles": ["owner"]}]},
                "members: a user was not imported",
            ),
            (
                {"alias": "A!"},
                "slug: must be 1 to 64 of a-z, 0-9, _ and -, with a letter or digit at both ends",
            ),
        ],
    )
    async def test_refused(self, target: Service, file: Path, differing: dict[str, Any], reason: str) -> None:
        write(file, [USER], organizations=[{**ACME, **differing}])

        _, report = await move(target, file)

        assert dict(report.refused) == {reason: 1}


def test_the_guide(run: Run, tmp_path: Path) -> None:
    write_files(GUIDE, tmp_path)

    follow(run, GUIDE, "Rehearse")
    follow(run, GUIDE, "Switch")

    shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
    assert shown in lines(tmp_path / "ids.jsonl")
    assert "/callback/google" in run("providers", "list").stdout
    members = run("orgs", "members", "acme", "--json").stdout
    assert {each["role"] for each in json.loads(members)} == {"owner", "member"}


@pytest.mark.long
async def test_ten_thousand_users_keep_their_passwords(service: Service, tmp_path: Path) -> None:
    users = [
        {
            "id": f"00000000-0000-4000-8000-{number:012}", "username": f"user{number}", "enabled": True,
            "email": f"user{number}@example.com", "emailVerified": True, "createdTimestamp": 1706702400000,
            "credentials": [pbkdf2("pbkdf2-sha256", "sha256", 1, f"password {number}")],
        }
        for number in range(10_000)
    ]  # fmt: skip
    write(tmp_path / "shop-realm.json", users[:5000])
    for start in range(5000, 10_000, 50):
        write(tmp_path / f"shop-users-{start // 50}.json", users[start : start + 50])

    report, _ = await move(service, tmp_path)
    again, _ = await move(service, tmp_path)

    last = await sign_in(service, "user9999@example.com", "password 9999")
    wrong = await sign_in(service, "user9998@example.com", "password 9999")
    assert (counts(report), counts(again)) == ((10_000, 0, 0), (0, 10_000, 0))
    assert (last.status_code, wrong.status_code) == (200, 401)
