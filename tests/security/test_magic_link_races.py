"""Links used by many at once: on SQLite, and on PostgreSQL with two instances that share one database."""

import pytest

from tests.handlers.mailed import link_to, open_link
from tests.handlers.steps import bearer, execute, join, set_user, works
from tests.security.crowd import CROWDS, all_of, turns
from tests.security.limits import told
from tests.service import PASSWORD, Service

ROUNDS = 5


@pytest.mark.both_databases
@pytest.mark.threat("M2", "R21")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_link_opens_one_session(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    await join(service)
    await set_user(service, email_verified=True)
    await execute(service, "DELETE FROM session")
    token = await link_to(service)

    answers = await all_of([open_link(each, token) for each in turns(unlimited_instances, number)])

    assert told(answers) == {"200": 1, "401 INVALID_TOKEN": number - 1}
    assert len(await service.rows("SELECT id FROM session")) == 1


@pytest.mark.threat("M17", "R21")
@pytest.mark.parametrize("end", ["ban", "deletion"])
async def test_no_session_outlives_a_ban_or_a_deletion(unlimited_instances: list[Service], end: str) -> None:
    service = unlimited_instances[0]
    admin = await join(service, "root@example.com")
    await set_user(service, "root@example.com", role="admin")
    for number in range(ROUNDS):
        email = f"user{number}@example.com"
        session = await join(service, email)
        await set_user(service, email, email_verified=True)
        [user] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=email)
        token = await link_to(service, email)
        ending = (
            unlimited_instances[-1].post("/admin/ban-user", {"userId": user.id}, headers=admin)
            if end == "ban"
            else unlimited_instances[-1].post("/delete-user", {"password": PASSWORD}, headers=session)
        )

        signed_in, ended = await all_of([open_link(service, token), ending])

        assert ended.status_code == 200
        assert signed_in.status_code in (200, 403)
        left = await service.rows("SELECT id FROM session WHERE user_id = :id", id=user.id)
        assert left == []
        if signed_in.status_code == 200:
            assert not await works(service, bearer(signed_in.json()["token"]))
