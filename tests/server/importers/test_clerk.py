"""Moving in from Clerk: the CSV file of its dashboard, with users of its Backend API."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyotp
import pytest
from passlib.hash import phpass

from domain.data_import.eligibility import Field, Problem
from server.crypto import foreign_hashes, imported_secrets
from server.database.sqlite.temporary_map import temporary_map
from server.importers import clerk_hashes
from server.importers.clerk import ApiUsers, Clerk
from server.importers.report import Report
from server.importers.source import SourceRefused
from tests.conftest import MakeService
from tests.docs.typing_in import guide, write_files
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.security import second_factor
from tests.server.importers.guides import follow, under
from tests.server.importers.moving import HASH, HASHED, counts, take
from tests.server.terminal import Run, lines
from tests.service import Service

GUIDE = guide("import-clerk")
ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"
HEADER = (
    "id,first_name,last_name,username,primary_email_address,primary_phone_number,verified_email_addresses,"
    "unverified_email_addresses,verified_phone_numbers,unverified_phone_numbers,totp_secret,password_digest,"
    "password_hasher"
)
SALT, TYPED = b"some salt", b"mypassword"
WITHOUT_EMAIL = "email: is missing: the user signs in without an email address"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def row(id_: str, email: str, **cells: str) -> str:
    values = {"id": id_, "primary_email_address": email, "verified_email_addresses": email, **cells}
    return ",".join(values.get(name, "") for name in HEADER.split(","))


def hashed(id_: str, email: str, **cells: str) -> str:
    return row(id_, email, password_digest=HASH, password_hasher="bcrypt", **cells)


async def move(
    service: Service,
    rows: Sequence[str],
    *without: Field,
    more: Sequence[Mapping[str, Any] | str] = (),
    header: str = HEADER,
) -> Report:
    lines = (line if isinstance(line, str) else json.dumps(line) for line in more)
    with temporary_map() as kept:
        api_users = ApiUsers(kept)
        await api_users.read(BytesIO("".join(f"{line}\n" for line in lines).encode()))
        file = BytesIO("".join(f"{line}\r\n" for line in (header, *rows)).encode("utf-8-sig"))
        return await take(service, Clerk(file, api_users), *without, roles=["admin"])


class TestUsers:
    async def test_names_usernames_and_verified_addresses_stay(self, service: Service) -> None:
        rows = [
            hashed("user_1", "Ada@Example.com", first_name='"Ada, Countess"', last_name="Lovelace", username="ada_l",
                   verified_email_addresses="ada@example.com|ada@work.example"),
            hashed("user_2", BOB, verified_email_addresses="bob@work.example", unverified_email_addresses=BOB),
        ]  # fmt: skip

        report = await move(service, rows)
        again = await move(service, rows)

        ada, bob = [
            await user_of(service, bearer((await sign_in(service, email, HASHED)).json()["token"]))
            for email in (ADA, BOB)
        ]
        assert (counts(report), counts(again)) == ((2, 0, 0), (0, 2, 0))
        assert (ada["name"], ada["username"], ada["emailVerified"]) == (
            "Ada, Countess Lovelace",
            "ada_l",
            True,
        )
        assert (bob["name"], bob["emailVerified"]) == ("bob", False)

    async def test_the_api_adds_bans_roles_images_and_times(self, service: Service) -> None:
        more = [
            {"id": "user_1", "object": "user", "banned": False, "image_url": "https://img.example.com/1",
             "has_image": True, "created_at": 1706702400000, "public_metadata": {"role": "admin"},
             "unsafe_metadata": {"role": "owner"}},
            {"id": "user_2", "object": "user", "banned": True, "image_url": "https://img.example.com/2",
             "has_image": False, "created_at": 1706702400000, "unsafe_metadata": {"role": "admin"}},
        ]  # fmt: skip

        report = await move(
            service, [hashed("user_1", ADA), hashed("user_2", BOB), hashed("user_3", EVE)], more=more
        )

        session, banned, other = [await sign_in(service, email, HASHED) for email in (ADA, BOB, EVE)]
        ada = await user_of(service, bearer(session.json()["token"]))
        [bob] = await service.rows('SELECT image, role FROM "user" WHERE email = :email', email=BOB)
        assert counts(report) == (3, 0, 0)
        assert (ada["role"], ada["image"]) == ("admin", "https://img.example.com/1")
        assert ada["createdAt"] == "2024-01-31T12:00:00.000Z"
        assert refusal(banned)[:2] == (403, "BANNED_USER")
        assert (bob.image, bob.role) == (None, "user")
        assert other.status_code == 200

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("user_1,Ada", "line: has 2 cells, and the header has 13"),
            (row("", ADA), "id: is missing"),
            (row("user_1", "", primary_phone_number="+4912345"), WITHOUT_EMAIL),
        ],
    )  # fmt: skip
    async def test_rows_that_are_refused(self, service: Service, line: str, reason: str) -> None:
        report = await move(service, [line, hashed("user_2", BOB)])

        assert dict(report.refused) == {reason: 1}
        assert counts(report) == (1, 0, 1)

    @pytest.mark.parametrize(
        ("header", "line", "reason"),
        [
            ("id,email", "user_1,ada@example.com", "the header of the CSV file has no column primary_email_address"),
            (HEADER, '"user_1', "the CSV file cannot be read after line 2: unexpected end of data"),
        ],
    )  # fmt: skip
    async def test_another_file(self, service: Service, header: str, line: str, reason: str) -> None:
        with pytest.raises(SourceRefused) as caught:
            await move(service, [line], header=header)

        assert str(caught.value) == reason

    async def test_another_file_of_the_api(self, service: Service) -> None:
        with pytest.raises(SourceRefused, match=r"^--api-users: line 1: line: is not a JSON object$"):
            await move(service, [], more=['[{"id": "user_1"}]'])

    async def test_fast_hashes_keep_working(self, service: Service) -> None:
        octets = hashlib.sha1(TYPED + SALT).digest() + SALT
        digests = {
            "md5": hashlib.md5(TYPED).hexdigest(),
            "sha256": hashlib.sha256(TYPED).hexdigest(),
            "ldap_ssha": f"{{SSHA}}{text(octets)}",
            "phpass": phpass.using(rounds=7).hash(TYPED),
        }

        report = await move(
            service,
            [
                row(name, f"{name}@example.com", password_digest=digest, password_hasher=name)
                for name, digest in digests.items()
            ],
        )

        answers = [await sign_in(service, f"{name}@example.com", TYPED.decode()) for name in digests]
        assert counts(report) == (4, 0, 0)
        assert [answer.status_code for answer in answers] == [200] * 4


class TestSecondFactors:
    async def test_an_authenticator_and_a_phone(self, service: Service) -> None:
        more = [{"id": "user_2", "two_factor_enabled": True, "totp_enabled": False}]

        report = await move(
            service, [hashed("user_1", ADA, totp_secret=SECRET), hashed("user_2", BOB)], more=more
        )

        ada, bob = [await sign_in(service, email, HASHED) for email in (ADA, BOB)]
        code = pyotp.TOTP(SECRET).at(service.clock.now)
        entered = await second_factor.enter(service, "totp", code, bearer(ada.json()["token"]))
        assert counts(report) == (2, 0, 0)
        assert entered.status_code == 200
        assert bob.json()["twoFactorMethods"] == ["otp"]


class TestAccounts:
    async def test_verified_accounts_sign_in(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        google = {"preset": "google", "client_id": "id", "client_secret": "secret"}
        target = await make_service(
            {
                **social_settings(provider, issuer=provider.issuer),
                **{f"providers.google.{key}": value for key, value in google.items()},
            }
        )
        accounts = [
            {"object": "external_account", "provider": "oauth_custom_test", "provider_user_id": "ada-1",
             "verification": {"status": "verified", "strategy": "oauth_custom_test"}},
            {"object": "external_account", "provider": "oauth_custom_test", "provider_user_id": "eve-1",
             "verification": {"status": "unverified", "strategy": "oauth_custom_test"}},
        ]  # fmt: skip
        older = [{"object": "google_account", "id": "idn_1", "google_id": "1234", "email_address": BOB}]
        more = [{"id": "user_1", "external_accounts": accounts}, {"id": "user_2", "external_accounts": older}]

        report = await move(target, [row("user_1", ADA), row("user_2", BOB)], more=more)

        token = provider.mint(claims={"sub": "ada-1", "email": "else@example.com"})
        answer = await target.post("/sign-in/social", {"provider": "test", "idToken": token})
        stored = await target.rows("SELECT account_id FROM account")
        assert counts(report) == (2, 0, 0)
        assert {each.account_id for each in stored} == {"ada-1", "1234"}
        assert answer.json()["user"]["email"] == ADA


def text(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def pbkdf2(name: str, salt: bytes = SALT) -> bytes:
    return hashlib.pbkdf2_hmac(name, TYPED, salt, 1000)


SCRYPT = hashlib.scrypt(TYPED, salt=SALT, n=16, r=1, p=1, dklen=64).hex()
# https://github.com/firebase/scrypt/blob/main/README.md
FIREBASE = (
    "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==$42xEC+ixf3L2lw==$"
    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$Bw==$8$14"
)


class TestHashes:
    """The formats of https://clerk.com/docs/reference/backend/user/create-user."""

    @pytest.mark.parametrize(
        ("hasher", "digest", "password"),
        [
            ("bcrypt", HASH, HASHED),
            ("pbkdf2_sha1", f"pbkdf2_sha1$1000$some salt${pbkdf2('sha1').hex()}", "mypassword"),
            ("pbkdf2_sha256", f"pbkdf2_sha256$1000${text(SALT)}${text(pbkdf2('sha256'))}", "mypassword"),
            (
                "pbkdf2_sha256_django",
                f"pbkdf2_sha256$1000$somesalt${text(pbkdf2('sha256', b'somesalt'))}",
                "mypassword",
            ),
            ("pbkdf2_sha512", f"pbkdf2_sha512$1000$some salt${pbkdf2('sha512').hex()}", "mypassword"),
            (
                "pbkdf2_sha512_hex",
                f"pbkdf2_sha512_hex$1000${SALT.hex()}${pbkdf2('sha512').hex()}",
                "mypassword",
            ),
            ("scrypt_werkzeug", f"scrypt:16:1:1$some salt${SCRYPT}", "mypassword"),
            ("scrypt_firebase", FIREBASE, "user1password"),
        ],
    )
    def test_digests_that_can_be_checked(self, hasher: str, digest: str, password: str) -> None:
        converted = clerk_hashes.converted(digest, hasher)

        assert isinstance(converted, str)
        stored = imported_secrets.stored(converted)
        assert foreign_hashes.matches(password, stored)
        assert not foreign_hashes.matches(f"{password}x", stored)

    @pytest.mark.parametrize(
        ("hasher", "digest", "reason"),
        [
            (
                "awscognito",
                "awscognito#pool#client#ada",
                "has the hasher awscognito, which cannot be checked",
            ),
            ("", HASH, "has the hasher none, which cannot be checked"),
            ("pbkdf2_sha256", "pbkdf2_sha256$1$?$?", "is damaged: it is not a digest of pbkdf2_sha256"),
            (
                "pbkdf2_sha512",
                "pbkdf2_sha512$1$salt$nohex",
                "is damaged: it is not a digest of pbkdf2_sha512",
            ),
            ("scrypt_firebase", "hash$salt", "is damaged: it is not a digest of scrypt_firebase"),
        ],
    )
    def test_digests_that_are_refused(self, hasher: str, digest: str, reason: str) -> None:
        problem = clerk_hashes.converted(digest, hasher)

        assert isinstance(problem, Problem)
        assert problem.reason.startswith(reason)
        assert problem.may_be_left is Field.PASSWORD


class TestGuide:
    """The guide, with its files and commands."""

    def test_the_steps(self, run: Run, tmp_path: Path) -> None:
        write_files(GUIDE, tmp_path)

        follow(run, GUIDE, "Rehearse")
        follow(run, GUIDE, "Switch")

        shown = json.loads((tmp_path / "one-id.json").read_text("utf-8"))
        assert shown in lines(tmp_path / "ids.jsonl")
        assert "/callback/google" in run("providers", "list").stdout

    def test_every_hasher_has_its_line(self) -> None:
        table = under(GUIDE, "What is kept").partition("### Password hashes")[2]
        kept = [line for line in table.splitlines() if "| kept" in line]

        assert set(re.findall(r"`(\w+)`", "".join(kept))) == clerk_hashes.HASHERS


@pytest.mark.long
async def test_ten_thousand_users(service: Service) -> None:
    names = [f"user{number}" for number in range(10_000)]
    more = [{"id": name, "created_at": 1706702400000} for name in reversed(names)]

    report = await move(service, [hashed(name, f"{name}@example.com") for name in names], more=more)

    assert counts(report) == (10_000, 0, 0)
    assert (await sign_in(service, "user9999@example.com", HASHED)).status_code == 200
