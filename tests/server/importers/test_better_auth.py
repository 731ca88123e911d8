"""Moving in from Better Auth: a database that the published package has made, on SQLite and on PostgreSQL."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyotp
import pytest

from domain.data_import.eligibility import Field
from models import Account, TwoFactor, User, metadata
from server.importers.better_auth import better_auth
from server.importers.report import Report
from server.importers.tables import opened
from tests.conftest import MakeService
from tests.handlers import passkey_steps
from tests.handlers.steps import bearer, join, refusal, set_user, sign_in, user_of
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.postgres import Cluster
from tests.security import second_factor
from tests.server.importers import real
from tests.server.importers.guides import IMPORT, follow
from tests.server.importers.moving import WITHOUT_ORGANIZATIONS, counts, take, take_organizations
from tests.server.terminal import Run
from tests.service import CHEAP, Service
from tests.settings.api_keys import VERIFIER
from tests.trail import trail

pytestmark = pytest.mark.long

ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"


@pytest.fixture(scope="module")
def filled(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> real.Filled:
    """Return for each database its address, and what the test must know of the users in it."""
    return real.better_auth(real.empty(cluster, tmp_path_factory.mktemp("better-auth")))


@pytest.fixture
def url(filled: real.Filled, dialect: str) -> str:
    return filled[dialect][0]


@pytest.fixture
def there(filled: real.Filled, dialect: str) -> dict[str, str]:
    return filled[dialect][1]


async def move(service: Service, url: str, *without: Field, secret: str | None = real.SECRET) -> Report:
    own = service.services.settings.database_url.get_secret_value()
    async with opened(url, own) as database:
        source = await better_auth(database, [secret] if secret else [])
        return await take(service, source, *without, roles=["admin"])


class TestUsers:
    async def test_passwords_names_roles_and_bans_stay(
        self, target: Service, url: str, there: dict[str, str]
    ) -> None:
        await move(target, url)

        session, banned = [await sign_in(target, email, real.PASSWORD) for email in (BOB, EVE)]

        bob = await user_of(target, bearer(session.json()["token"]))
        assert (bob["id"], bob["role"], bob["emailVerified"]) == (there["bob"], "admin", True)
        assert bob["createdAt"] > "2026-01-02"
        [ada] = await target.rows('SELECT * FROM "user" WHERE email = :email', email=ADA)
        assert (ada.id, ada.username, ada.display_username) == (there["ada"], "ada_l", "Ada_L")
        assert refusal(banned)[:2] == (403, "BANNED_USER")
        async with target.services.database.begin() as db:
            users = metadata.tables["user"]
            [eve] = await db.execute(users.select().where(users.c.email == EVE))
        assert (eve.ban_reason, eve.ban_expires.isoformat()) == ("spam", "2099-01-31T12:00:00+00:00")

    async def test_they_are_on_record_and_their_hashes_are_renewed(self, target: Service, url: str) -> None:
        await move(target, url)

        answer = await sign_in(target, BOB, real.PASSWORD)

        assert answer.status_code == 200, answer.text
        [stored] = await target.rows(
            'SELECT password FROM account JOIN "user" ON "user".id = user_id WHERE email = :email'
            " AND provider_id = 'credential'",
            email=BOB,
        )
        assert stored.password.startswith("$argon2id$")
        records = await trail(target)
        created = [(one.method, one.details["by"]) for one in records if one.event == "user.created"]
        assert created == [("import", "operator")] * 4
        assert "password.rehashed" in [one.event for one in records]

    async def test_nobody_comes_twice(self, target: Service, url: str) -> None:
        first = await move(target, url)
        before = await _rows(target)

        second = await move(target, url)

        assert (counts(first), counts(second)) == ((4, 0, 0), (0, 4, 0))
        assert await _rows(target) == before


class TestSecondFactor:
    async def test_the_same_authenticator_goes_on(
        self, target: Service, url: str, there: dict[str, str]
    ) -> None:
        await move(target, url)
        pending = (await sign_in(target, ADA, real.PASSWORD)).json()["token"]
        app = pyotp.TOTP(second_factor.secret_in(there["totpURI"]))

        wrong = await second_factor.enter(target, "totp", "000000", bearer(pending))
        right = await second_factor.enter(target, "totp", app.at(target.clock.now), bearer(pending))

        assert (wrong.status_code, right.status_code) == (401, 200)

    @pytest.mark.parametrize(
        ("secret", "reason"),
        [
            (None, "twoFactor: is encrypted: pass BETTER_AUTH_SECRET with --secret-file"),
            ("another-secret", "twoFactor: cannot be decrypted with the given secret"),
        ],
    )
    async def test_who_would_lose_it_is_refused(
        self, target: Service, url: str, secret: str | None, reason: str
    ) -> None:
        report = await move(target, url, secret=secret)

        assert dict(report.refused) == {reason: 1}
        assert counts(report) == (3, 0, 1)
        assert (await sign_in(target, ADA, real.PASSWORD)).status_code == 401

    async def test_it_can_be_left_behind(self, target: Service, url: str) -> None:
        report = await move(target, url, Field.TWO_FACTOR, secret=None)

        answer = await sign_in(target, ADA, real.PASSWORD)

        assert counts(report) == (4, 0, 0)
        assert report.left.total() == 1
        assert "twoFactorRedirect" not in answer.json()


class TestApiKeys:
    async def test_a_key_goes_on_working(
        self, make_service: MakeService, url: str, there: dict[str, str], provider: ProviderProcess
    ) -> None:
        known = social_settings(provider, issuer=provider.issuer)
        target = await make_service({**known, "api_keys.accept_imported": "true"})
        await move(target, url)

        async def verdict(**asked: object) -> dict[str, Any]:
            body = {"key": there["key"], **asked}
            answer = await target.post("/api-key/verify", body, headers=bearer(VERIFIER))
            found: dict[str, Any] = answer.json()
            return found

        key = (await verdict(permissions={"files": ["read"]}))["key"]
        assert (key["referenceId"], key["name"], key["prefix"], key["configId"]) == (
            there["bob"],
            "ci",
            "ci_",
            "default",
        )
        assert (key["remaining"], key["refillAmount"], key["refillInterval"]) == (1, 2, 60_000)
        assert (await verdict(permissions={"files": ["write"]}))["error"][
            "code"
        ] == "KEY_PERMISSIONS_INSUFFICIENT"
        assert there["key"].startswith(key["start"])
        assert [(await verdict())["valid"] for _ in range(2)] == [True, False]

    async def test_they_need_the_setting(self, target: Service, url: str, there: dict[str, str]) -> None:
        await move(target, url)

        answer = await target.post("/api-key/verify", {"key": there["key"]}, headers=bearer(VERIFIER))

        assert answer.json()["error"]["code"] == "INVALID_API_KEY"
        assert len(await target.rows("SELECT id FROM api_key")) == 1


class TestPasskeys:
    async def test_a_passkey_goes_on_working(self, target: Service, url: str, there: dict[str, str]) -> None:
        await move(target, url)

        answer = await passkey_steps.use(target, real.PASSKEY)

        assert answer.json()["user"]["id"] == there["bob"]
        [row] = await target.rows("SELECT * FROM passkey")
        assert (row.name, row.counter, row.device_type, row.rp_id) == (
            "Phone",
            6,
            "multiDevice",
            "example.com",
        )


class TestOrganizations:
    @pytest.fixture
    async def target(self, make_service: MakeService) -> Service:
        """A service with organizations, and a kind for their keys."""
        kinds = {"team": {"references": "organization"}}
        return await make_service(
            {
                "organizations.enabled": "true",
                "organizations.teams.enabled": "true",
                "api_keys.kinds": json.dumps(kinds),
                "api_keys.accept_imported": "true",
            }
        )

    async def test_members_teams_invitations_and_keys_come_along(
        self, target: Service, url: str, there: dict[str, str]
    ) -> None:
        _, report = await take_organizations(target, url, secret=real.SECRET)

        assert counts(report) == (1, 0, 0)
        bob = bearer((await sign_in(target, BOB, real.PASSWORD)).json()["token"])
        full = (
            await target.get(
                "/organization/get-full-organization", params={"organizationSlug": "acme"}, headers=bob
            )
        ).json()
        assert (full["id"], full["name"], full["metadata"]) == (there["acme"], "Acme", {"plan": "free"})
        roles = {member["userId"]: member["role"] for member in full["members"]}
        assert roles == {there["bob"]: "owner", there["carol"]: "admin,member"}
        [invitation] = full["invitations"]
        assert (invitation["id"], invitation["email"], invitation["teamId"]) == (
            there["invitation"],
            "dora@example.com",
            there["team"],
        )
        assert sorted(team["name"] for team in full["teams"]) == ["Acme", "Sales"]
        await target.post("/organization/set-active", {"organizationSlug": "acme"}, headers=bob)
        places = await target.get(
            "/organization/list-user-teams", params={"userId": there["carol"]}, headers=bob
        )
        assert [team["id"] for team in places.json()] == [there["team"]]
        verdict = await target.post(
            "/api-key/verify", {"key": there["organizationKey"]}, headers=bearer(VERIFIER)
        )
        assert verdict.json()["key"]["referenceId"] == there["acme"]

    async def test_an_invitation_is_accepted_by_its_id(
        self, target: Service, url: str, there: dict[str, str]
    ) -> None:
        await take_organizations(target, url, secret=real.SECRET)
        dora = await join(target, "dora@example.com")
        await set_user(target, "dora@example.com", email_verified=True)

        answer = await target.post(
            "/organization/accept-invitation", {"invitationId": there["invitation"]}, headers=dora
        )

        assert answer.json()["member"]["organizationId"] == there["acme"], answer.text

    async def test_none_comes_twice(self, target: Service, url: str) -> None:
        await take_organizations(target, url, secret=real.SECRET)
        tables = ("organization", "member", "team", "team_member", "invitation", "api_key")

        async def rows() -> list[Any]:
            return [await target.rows(f"SELECT * FROM {table} ORDER BY id") for table in tables]

        before = await rows()
        _, again = await take_organizations(target, url, secret=real.SECRET)

        assert (counts(again), await rows()) == ((0, 1, 0), before)


class TestAccounts:
    async def test_the_identity_signs_in_and_its_tokens_stay_behind(
        self, target: Service, url: str, there: dict[str, str], provider: ProviderProcess
    ) -> None:
        await move(target, url)
        [account] = await target.rows("SELECT * FROM account WHERE provider_id = 'test'")
        token = provider.mint(claims={"sub": "carol-at-the-provider", "email": "else@example.com"})

        answer = await target.post("/sign-in/social", {"provider": "test", "idToken": token})

        assert answer.json()["user"]["id"] == there["carol"]
        assert (account.issuer, account.scope) == (provider.issuer, "openid email")
        assert (account.access_token, account.refresh_token, account.id_token) == (None, None, None)

    async def test_a_provider_that_is_unknown_here_is_no_silent_loss(
        self, service: Service, url: str
    ) -> None:
        refused = await move(service, url)
        own = service.services.settings.database_url.get_secret_value()
        async with opened(url, own) as database:
            source = await better_auth(database, [real.SECRET])
            taken = await take(service, source, providers=["test"])

        assert dict(refused.refused) == {"accounts: test is not a configured provider": 1}
        assert counts(taken) == (1, 3, 0)


async def _rows(service: Service) -> list[int]:
    found = []
    for table in (User, Account, TwoFactor):
        found += await service.rows(f'SELECT count(*) FROM "{table.__tablename__}"')
    return [row[0] for row in found]


@pytest.fixture
def command_settings() -> Mapping[str, str]:
    return CHEAP | WITHOUT_ORGANIZATIONS


def test_the_guide(filled: real.Filled, run: Run, tmp_path: Path) -> None:
    shutil.copy(filled["sqlite"][0].removeprefix("sqlite:///"), tmp_path / "auth.db")
    (tmp_path / "better-auth-secret").write_text(f"{real.SECRET}\n", "utf-8")

    follow(run, IMPORT, "Procedure")
    follow(run, IMPORT, "Better Auth")

    assert len(json.loads(run("users", "list", "--json").stdout)) == 4
