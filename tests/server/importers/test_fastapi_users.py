"""Moving in from fastapi-users: a database that the published package has made, on SQLite and on PostgreSQL."""

import json
import shutil
import uuid
from pathlib import Path

import pytest

from server.importers.fastapi_users import fastapi_users
from server.importers.report import Report
from server.importers.tables import opened
from tests.handlers.steps import bearer, refusal, sign_in, user_of
from tests.labs.provider.process import ProviderProcess
from tests.postgres import Cluster
from tests.server.importers import real
from tests.server.importers.guides import IMPORT, follow
from tests.server.importers.moving import counts, take
from tests.server.terminal import Run
from tests.service import Service

pytestmark = pytest.mark.long

ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"


@pytest.fixture(scope="module")
def filled(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> real.Filled:
    """Return for each database its address, and the ids of the users in it."""
    return real.fastapi_users(real.empty(cluster, tmp_path_factory.mktemp("fastapi-users")))


@pytest.fixture
async def moved(target: Service, filled: real.Filled, dialect: str) -> Report:
    """What came of the import."""
    own = target.services.settings.database_url.get_secret_value()
    async with opened(filled[dialect][0], own) as source:
        return await take(target, await fastapi_users(source), roles=["admin"])


async def test_passwords_names_roles_and_bans_stay(
    target: Service, moved: Report, filled: real.Filled, dialect: str
) -> None:
    signed_in = [await sign_in(target, email, real.PASSWORD) for email in (ADA, BOB)]
    inactive = await sign_in(target, EVE, real.PASSWORD)

    ada = await user_of(target, bearer(signed_in[0].json()["token"]))
    assert counts(moved) == (3, 0, 0)
    assert ada["id"] == uuid.UUID(filled[dialect][1]["ada"]).hex
    assert (ada["email"], ada["name"], ada["emailVerified"], ada["role"]) == (ADA, "ada", True, "admin")
    assert refusal(inactive)[:2] == (403, "BANNED_USER")
    for answer in signed_in:
        assert answer.status_code == 200, answer.text
        [stored] = await target.rows(
            "SELECT password FROM account WHERE user_id = :id AND provider_id = 'credential'",
            id=answer.json()["user"]["id"],
        )
        assert stored.password.startswith("$argon2id$v=19$m=1024,t=1,")


async def test_the_identity_signs_in(target: Service, moved: Report, provider: ProviderProcess) -> None:
    token = provider.mint(claims={"sub": "bob-at-the-provider", "email": "else@example.com"})

    answer = await target.post("/sign-in/social", {"provider": "test", "idToken": token})

    assert answer.json()["user"]["email"] == BOB


def test_the_guide(filled: real.Filled, run: Run, tmp_path: Path) -> None:
    shutil.copy(filled["sqlite"][0].removeprefix("sqlite:///"), tmp_path / "users.db")

    follow(run, IMPORT, "fastapi-users")

    assert len(json.loads(run("users", "list", "--json").stdout)) == 3
