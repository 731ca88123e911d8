"""Moving in from Supabase: a database with the columns of its migrations, and values that it has written."""

import uuid
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import cbor2
import pyotp
import pytest
from sqlalchemy import make_url

from domain.data_import.eligibility import Field
from server.crypto.supabase import parse_keys
from server.importers.report import Report
from server.importers.source import SourceRefused
from server.importers.supabase import SCHEMA, supabase
from server.importers.tables import opened
from tests.authenticator import BE, BS, UP, UV, Authenticator
from tests.conftest import MakeService
from tests.handlers import passkey_steps
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.postgres import Cluster
from tests.security import second_factor
from tests.server.importers import supabase_project
from tests.server.importers.moving import HASH, HASHED, counts, take
from tests.server.importers.supabase_project import PASSWORD, Project
from tests.service import Service

ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"
ARGON2 = "$argon2id$v=19$m=1024,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$Tikn65VjNKv9r3419wmSJI1jHoKt7UrMWJlLmO7lXpU"
"""Of `correct horse battery`; Supabase accepts it from an earlier program."""
SCRYPT = "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=c2lnbmVy$c2FsdA==$a2V5"
TENANT = "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"


@pytest.fixture
def url(cluster: Cluster) -> str:
    return cluster.create()


@pytest.fixture
async def project(url: str) -> AsyncIterator[Project]:
    project = await Project.create(url)
    yield project
    await project.connection.close()


async def move(service: Service, url: str, *without: Field, keys: str = "", dry_run: bool = False) -> Report:
    own = service.services.settings.database_url.get_secret_value()
    async with opened(url, own, SCHEMA) as database:
        source = await supabase(database, parse_keys(keys) if keys else {})
        return await take(service, source, *without, roles=["editor", "author"], dry_run=dry_run)


class TestUsers:
    async def test_names_roles_bans_and_times_stay(
        self, service: Service, project: Project, url: str
    ) -> None:
        metadata = {
            "full_name": " Ada Lovelace ",
            "avatar_url": "https://example.com/ada.png",
            "role": "admin",
        }
        ada = await project.add(
            "Ada@Example.com", own=metadata, app={"role": "editor"}, encrypted_password=HASH,
            email_confirmed_at=supabase_project.JOINED,
        )  # fmt: skip
        roles = {"roles": ["editor", "author"]}
        await project.add(BOB, own={"name": {"first": "Bob"}}, app=roles, encrypted_password=ARGON2)
        await project.add(
            EVE, encrypted_password=HASH, banned_until=datetime(2126, 1, 1, tzinfo=UTC), own={"name": "  "}
        )

        report = await move(service, url)

        session, of_bob, banned = [
            await sign_in(service, *each) for each in ((ADA, HASHED), (BOB, PASSWORD), (EVE, HASHED))
        ]
        user, bob = [await user_of(service, bearer(each.json()["token"])) for each in (session, of_bob)]
        assert counts(report) == (3, 0, 0)
        assert (user["id"], user["email"], user["name"]) == (ada.hex, ADA, "Ada Lovelace")
        # Users can write the metadata with their name, so a role in it means nothing.
        assert (user["role"], user["emailVerified"]) == ("editor", True)
        assert (user["image"], user["createdAt"]) == (
            "https://example.com/ada.png",
            "2024-01-31T12:00:00.000Z",
        )
        assert (bob["name"], bob["role"], bob["emailVerified"]) == ("bob", "editor,author", False)
        assert refusal(banned)[:2] == (403, "BANNED_USER")

    @pytest.mark.parametrize(
        ("app", "expected"),
        [
            ({"role": "editor"}, "editor"),
            ({"role": ["editor", " author "]}, "editor,author"),
            ({"roles": "author"}, "author"),
            ({"roles": ["author", 7], "role": "editor"}, "editor,author"),
            ({"roles": {"editor": True}, "role": ""}, "user"),
        ],
    )
    async def test_roles_are_texts_and_lists(
        self, service: Service, project: Project, url: str, app: Mapping[str, Any], expected: str
    ) -> None:
        await project.add(ADA, app=app)

        await move(service, url)

        [stored] = await service.rows('SELECT role FROM "user"')
        assert stored.role == expected

    async def test_what_is_not_imported_is_told(self, service: Service, project: Project, url: str) -> None:
        ada, bob = [await project.add(address, phone="4915112345678") for address in (ADA, BOB)]
        for name in ("one", "two"):
            await project.add_factor(ada, "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", friendly_name=name)
        await project.add_factor(ada, "phone")
        await project.add_factor(bob, "webauthn")

        report = await move(service, url)

        assert dict(report.left) == {
            "phone: numbers are not imported": 2,
            "twoFactor: only the oldest of several authenticator apps is imported": 1,
            "twoFactor: phone is not imported": 1,
            "twoFactor: webauthn is not imported: the user gets codes by email instead": 1,
        }

    async def test_a_server_that_no_longer_responds_ends_the_import(
        self, service: Service, project: Project, url: str
    ) -> None:
        await project.add(ADA)
        own = service.services.settings.database_url.get_secret_value()
        async with opened(url, own, SCHEMA, read_within=0.5) as database:
            source = await supabase(database, {})
            async with project.connection.transaction():
                await project.connection.execute("LOCK TABLE auth.mfa_factors IN ACCESS EXCLUSIVE MODE")
                with pytest.raises(SourceRefused, match="failed: the server does not respond"):
                    await take(service, source)

    @pytest.mark.threat("ADM27")
    async def test_nobody_becomes_an_administrator_by_metadata(
        self, service: Service, project: Project, url: str
    ) -> None:
        await project.add(ADA, app={"role": "admin"})
        await project.add(BOB, app={"roles": ["admin", "editor"]})

        report = await move(service, url)

        stored = await service.rows('SELECT role FROM "user" ORDER BY email')
        assert [row.role for row in stored] == ["user", "editor"]
        assert dict(report.left) == {"role: admin is not named with --role": 2}

    async def test_a_ban_without_end(self, service: Service, project: Project, url: str) -> None:
        await project.add(ADA)
        await project.connection.execute("UPDATE auth.users SET banned_until = 'infinity'")

        await move(service, url)

        [stored] = await service.rows('SELECT banned, ban_expires FROM "user"')
        assert (bool(stored.banned), stored.ban_expires) == (True, None)

    async def test_rows_that_are_no_users_are_counted(
        self, service: Service, project: Project, url: str
    ) -> None:
        await project.add(ADA)
        await project.add("hz5KlbvnS96Iug16-5RRQE6_OYcN0uQhu6TK8Z1T_oQ", deleted_at=supabase_project.JOINED)
        await project.add(None, is_anonymous=True)
        await project.add(None, phone="491234567890", encrypted_password=HASH)

        report = await move(service, url)

        assert counts(report) == (1, 0, 1)
        assert dict(report.left_out) == {"anonymous users": 1, "deleted users": 1}
        assert dict(report.refused) == {"email: is missing: the user signs in without an email address": 1}

    async def test_a_hash_that_cannot_be_checked(self, service: Service, project: Project, url: str) -> None:
        await project.add(ADA, encrypted_password=SCRYPT + "$broken")

        report = await move(service, url, dry_run=True)

        assert counts(report) == (0, 0, 1)
        assert next(iter(report.refused)).startswith("passwordHash: is ")
        assert counts(await move(service, url, Field.PASSWORD)) == (1, 0, 0)


class TestEncryption:
    async def test_columns_that_supabase_has_encrypted(
        self, service: Service, project: Project, url: str
    ) -> None:
        user_id = uuid.UUID(supabase_project.ENCRYPTED_USER)
        await project.add(ADA, id=user_id, encrypted_password=supabase_project.ENCRYPTED_HASH)
        factor_id = uuid.UUID(supabase_project.ENCRYPTED_FACTOR)
        await project.add_factor(user_id, "totp", supabase_project.ENCRYPTED_SECRET, id=factor_id)

        without_keys = await move(service, url, dry_run=True)
        with_others = await move(service, url, dry_run=True, keys=f"other:{'A' * 43}")
        report = await move(service, url, keys=supabase_project.KEYS)

        answer = await sign_in(service, ADA, PASSWORD)
        code = pyotp.TOTP(supabase_project.SECRET).at(service.clock.now)
        entered = await second_factor.enter(service, "totp", code, bearer(answer.json()["token"]))
        assert dict(without_keys.refused) == {"passwordHash: is encrypted: pass the keys with --keys-file": 1}
        assert dict(with_others.refused) == {"passwordHash: cannot be decrypted with the given keys": 1}
        assert counts(report) == (1, 0, 0)
        assert second_factor.is_pending(answer)
        assert entered.status_code == 200

    @pytest.mark.parametrize("text", ["", "abc", ":" + "A" * 43, "first:AAAA", f"first:{'A' * 43},second"])
    def test_keys_in_another_format(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"^key \d is not an id, a colon and 32 bytes in base64url"):
            parse_keys(text)


class TestSecondFactors:
    async def test_the_oldest_verified_authenticator_is_kept(
        self, service: Service, project: Project, url: str
    ) -> None:
        user_id = await project.add(ADA, encrypted_password=HASH)
        later = datetime(2025, 1, 1, tzinfo=UTC)
        await project.add_factor(user_id, "totp", "B" * 32, created_at=later)
        await project.add_factor(user_id, "totp", supabase_project.SECRET)
        await project.add_factor(
            user_id, "totp", "C" * 32, status="unverified", created_at=datetime(2020, 1, 1, tzinfo=UTC)
        )

        await move(service, url)

        answer = await sign_in(service, ADA, HASHED)
        code = pyotp.TOTP(supabase_project.SECRET).at(service.clock.now)
        entered = await second_factor.enter(service, "totp", code, bearer(answer.json()["token"]))
        assert entered.status_code == 200

    async def test_a_phone_becomes_codes_by_email(self, service: Service, project: Project, url: str) -> None:
        user_id = await project.add(ADA, encrypted_password=HASH)
        await project.add_factor(user_id, "phone", phone="491234567890")
        other = await project.add(BOB, encrypted_password=HASH)
        await project.add_factor(other, "totp", supabase_project.SECRET, status="unverified")

        await move(service, url)

        ada, bob = [await sign_in(service, email, HASHED) for email in (ADA, BOB)]
        assert ada.json()["twoFactorMethods"] == ["otp"]
        assert not second_factor.is_pending(bob)

    async def test_a_passkey_goes_on_working(self, service: Service, project: Project, url: str) -> None:
        user_id = await project.add(ADA)
        device = Authenticator(flags=UP | UV | BE | BS, counter=6, user_handle=str(user_id).encode())
        await project.insert(
            "webauthn_credentials",
            {
                "user_id": user_id, "credential_id": device.credential_id, "sign_count": 5, "backup_eligible": True,
                "public_key": cbor2.dumps(device.cose_key), "backed_up": True, "transports": '["internal", "hybrid"]',
                "aaguid": uuid.UUID("fbfc3007-154e-4ecc-8c0b-6e020557d7bd"), "friendly_name": "Phone",
            },
        )  # fmt: skip

        await move(service, url)

        answer = await passkey_steps.use(service, device)
        [passkey] = await passkey_steps.passkeys_of(service, bearer(answer.json()["session"]["token"]))
        assert (passkey["name"], passkey["deviceType"], passkey["backedUp"]) == ("Phone", "multiDevice", True)
        assert passkey["transports"] == "internal,hybrid"


class TestAccounts:
    async def test_accounts_keep_their_subjects(
        self, make_service: MakeService, provider: ProviderProcess, project: Project, url: str
    ) -> None:
        presets = {
            f"providers.{name}.{key}": value
            for name in ("google", "microsoft")
            for key, value in {"preset": name, "client_id": "id", "client_secret": "secret"}.items()
        }
        service = await make_service({**social_settings(provider, issuer=provider.issuer), **presets})
        user_id = await project.add(ADA)
        await project.add_identity(user_id, "email", str(user_id), email=ADA)
        await project.add_identity(user_id, "google", "1234", iss="https://www.googleapis.com/userinfo/v2/me")
        await project.add_identity(user_id, "azure", "abcd", iss=TENANT)
        await project.add_identity(user_id, "custom:test", "ada-at-the-provider")

        report = await move(service, url)

        token = provider.mint(claims={"sub": "ada-at-the-provider", "email": "else@example.com"})
        answer = await service.post("/sign-in/social", {"provider": "test", "idToken": token})
        stored = await service.rows(
            "SELECT provider_id, issuer, account_id FROM account ORDER BY provider_id"
        )
        assert counts(report) == (1, 0, 0)
        assert answer.json()["user"]["email"] == ADA
        assert [tuple(row) for row in stored] == [
            ("google", "https://accounts.google.com", "1234"),
            ("microsoft", TENANT, "abcd"),
            ("test", provider.issuer, "ada-at-the-provider"),
        ]

    async def test_single_sign_on_is_refused_by_its_name(
        self, service: Service, project: Project, url: str
    ) -> None:
        user_id = await project.add(ADA, is_sso_user=True)
        await project.add_identity(user_id, "sso:21648a9d-8d5a-4555-a9d1-d6375dc14e92", "ada")

        report = await move(service, url, dry_run=True)

        reason = "accounts: sso:21648a9d-8d5a-4555-a9d1-d6375dc14e92 is not a configured provider"
        assert dict(report.refused) == {reason: 1}
        assert counts(await move(service, url, Field.ACCOUNTS)) == (1, 0, 0)


class TestRefused:
    async def test_a_role_that_policies_hide_users_from(
        self, service: Service, project: Project, url: str
    ) -> None:
        await project.add(ADA)
        await project.connection.execute("""
            DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN;
            GRANT USAGE ON SCHEMA auth TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA auth TO reader""")
        as_reader = make_url(url).set(username="reader").render_as_string(hide_password=False)

        with pytest.raises(SourceRefused) as caught:
            await move(service, as_reader)

        await project.connection.execute("DROP OWNED BY reader; DROP ROLE reader")
        assert str(caught.value).endswith(
            'query would be affected by row-level security policy for table "users"'
        )

    async def test_a_database_that_is_no_project(self, service: Service, url: str) -> None:
        with pytest.raises(SourceRefused, match=r" has no table users$"):
            await move(service, url)

    async def test_a_sqlite_database(self, service: Service) -> None:
        with pytest.raises(SourceRefused, match=r"^--from: these users are in a PostgreSQL database"):
            await move(service, "sqlite:///users.db")


@pytest.mark.long
async def test_ten_thousand_users(service: Service, project: Project, url: str) -> None:
    await project.connection.execute(
        """INSERT INTO auth.users (id, email, encrypted_password, email_confirmed_at, raw_app_meta_data,
          raw_user_meta_data, created_at)
          SELECT gen_random_uuid(), 'user' || n || '@example.com', $1, now(), '{}', '{}', now()
          FROM generate_series(1, 10000) AS n""",
        HASH,
    )

    report = await move(service, url)
    again = await move(service, url)

    answer = await sign_in(service, "user9999@example.com", HASHED)
    assert (counts(report), counts(again)) == ((10_000, 0, 0), (0, 10_000, 0))
    assert answer.status_code == 200
