"""Codes and refresh tokens used by many at once: on SQLite, and on PostgreSQL with two instances."""

import asyncio
from collections import Counter

import pytest

from tests.conftest import Headers
from tests.handlers.steps import execute, join, set_user
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_codes import add_code, error, first_tokens, redeem, refresh
from tests.security.crowd import CROWDS, all_of, turns
from tests.service import PASSWORD, Service
from tests.trail import of_event

pytestmark = pytest.mark.both_databases
ROUNDS = 5


async def prepare(service: Service, email: str = "ada@example.com") -> tuple[OAuthTestClient, Headers]:
    """Return a client with refresh tokens, and the session of a user."""
    client = await add_client(
        service,
        grant_types=["authorization_code", "refresh_token"],
        scope="openid offline_access",
        id_token_signed_response_alg="ES256",
    )
    return client, await join(service, email)


@pytest.mark.threat("O2")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_code_is_redeemed_once(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    client, ada = await prepare(service)
    code = await add_code(service, client, ada, scopes="openid offline_access")

    answers = await all_of([redeem(each, client, code) for each in turns(unlimited_instances, number)])

    assert Counter(map(error, answers)) == {"200": 1, "400 invalid_grant": number - 1}
    assert len(await service.rows("SELECT id FROM oauth_grant WHERE revoked_at IS NULL")) == 1
    assert len(await service.rows("SELECT token FROM oauth_token")) == 2
    [won] = [answer.json() for answer in answers if answer.status_code == 200]
    assert error(await refresh(service, client, won["refresh_token"])) == "200"


@pytest.mark.threat("O9")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_refresh_token_is_rotated_once(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    client, ada = await prepare(service)
    tokens = await first_tokens(service, client, ada)

    answers = await all_of(
        [refresh(each, client, tokens["refresh_token"]) for each in turns(unlimited_instances, number)]
    )

    assert {error(answer) for answer in answers} == {"200"}
    assert len({answer.content for answer in answers}) == 1
    assert len(await service.rows("SELECT token FROM oauth_token WHERE kind = 'refresh'")) == 2
    assert len(await of_event(service, "oauth.token_issued")) == 2
    assert error(await refresh(service, client, answers[0].json()["refresh_token"])) == "200"


@pytest.mark.threat("O9")
async def test_many_reuses_revoke_the_grant_once(unlimited_instances: list[Service]) -> None:
    service = unlimited_instances[0]
    client, ada = await prepare(service)
    tokens = await first_tokens(service, client, ada)
    await refresh(service, client, tokens["refresh_token"])
    for instance in unlimited_instances:
        instance.clock.advance(minutes=1)

    answers = await all_of(
        [refresh(each, client, tokens["refresh_token"]) for each in turns(unlimited_instances, 20)]
    )

    assert {error(answer) for answer in answers} == {"400 invalid_grant"}
    assert len(await of_event(service, "oauth.refresh_reused")) == 1


@pytest.mark.threat("O16")
@pytest.mark.parametrize("end", ["sign-out", "ban", "deletion"])
async def test_no_token_outlives_the_end_of_its_session(unlimited_instances: list[Service], end: str) -> None:
    service, last = unlimited_instances[0], unlimited_instances[-1]
    root = await join(service, "root@example.com")
    await set_user(service, "root@example.com", role="admin")
    for number in range(ROUNDS):
        email = f"user{number}@example.com"
        client, session = await prepare(service, email)
        [user] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=email)
        code = await add_code(service, client, session)
        path, body, headers = {
            "sign-out": ("/sign-out", {}, session),
            "ban": ("/admin/ban-user", {"userId": user.id}, root),
            "deletion": ("/delete-user", {"password": PASSWORD}, session),
        }[end]

        redeemed, ended = await asyncio.gather(
            redeem(service, client, code), last.post(path, body, headers=headers)
        )

        assert ended.status_code == 200
        assert error(redeemed) in ("200", "400 invalid_grant")
        # Without offline access a grant is bound to its session.
        bound = "SELECT id FROM oauth_grant WHERE user_id = :id AND session_id IS NOT NULL"
        assert await service.rows(bound, id=user.id) == []


@pytest.mark.threat("O16")
async def test_a_refresh_and_the_end_of_its_session_do_not_deadlock(
    unlimited_instances: list[Service],
) -> None:
    service, last = unlimited_instances[0], unlimited_instances[-1]
    for number in range(ROUNDS):
        client, session = await prepare(service, f"user{number}@example.com")
        tokens = await first_tokens(service, client, session)
        await execute(service, "UPDATE oauth_grant SET offline = false")

        refreshed, ended = await asyncio.gather(
            refresh(service, client, tokens["refresh_token"]), last.post("/sign-out", headers=session)
        )
        after = await refresh(service, client, tokens["refresh_token"])

        assert ended.status_code == 200
        assert error(refreshed) in ("200", "400 invalid_grant")
        assert error(after) == "400 invalid_grant"
