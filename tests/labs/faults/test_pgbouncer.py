"""Row R21 behind a pooler: two instances share four connections to PostgreSQL through PgBouncer.

With GATEWRIGHT_LONG=1 each instance has two processes.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import pytest

from server.database.database import DatabaseAbsent, open_database
from tests.contract.reading import JSON_OPERATIONS
from tests.handlers.steps import bearer
from tests.labs.faults.instances import Instances, Way, all_steps
from tests.labs.faults.places import IS_LONG
from tests.labs.faults.steps import IN_ONE_PROCESS, faults, join, sign_in, status, succeeded, token_of
from tests.labs.provider.process import ProviderProcess
from tests.pgbouncer import pooling
from tests.postgres import Cluster
from tests.security.everything import OF_UNDELIVERED_MAIL

WORKERS = 2 if IS_LONG else 1
CONNECTIONS = 4
"""Fewer than there are processes that want one, so that each transaction gets what another has left."""


@pytest.fixture(scope="module")
def database_url(cluster: Cluster) -> str:
    """An empty database: it is migrated through the pooler, too."""
    return cluster.create()


@pytest.fixture(scope="module")
def pooled_url(database_url: str) -> Iterator[str]:
    """The same database through the pooler."""
    with pooling(database_url, connections=CONNECTIONS) as url:
        yield url


@pytest.fixture(scope="module")
def way(database_url: str, pooled_url: str) -> Way:
    """Both instances reach the database by the pooler alone."""
    return Way(database_url, pooled_url, WORKERS, {"database.pooler": "transaction"})


@pytest.mark.threat("R21")
class TestPooled:
    def test_every_operation_works_through_the_pooler(
        self, instances: Instances, provider_process: ProviderProcess
    ) -> None:
        answers = all_steps(instances, provider_process)

        assert succeeded(answers) | IN_ONE_PROCESS | OF_UNDELIVERED_MAIL == set(JSON_OPERATIONS)
        assert faults(answers) == set()

    def test_many_at_once_get_what_is_theirs(self, instances: Instances) -> None:
        def live(number: int) -> list[int]:
            name = f"parallel-{number}"
            with instances.client() as client:
                sessions = [join(client, name)] + [token_of(sign_in(client, name)) for _ in range(2)]
                client.post("/update-user", json={"name": name.title()}, headers=bearer(sessions[0]))
                shown = client.get("/get-session", headers=bearer(sessions[1])).json()
                assert (shown["user"]["email"], shown["user"]["name"]) == (
                    f"{name}@example.com",
                    name.title(),
                )
                listed = client.get("/list-sessions", headers=bearer(sessions[1])).json()
                assert [each["token"] for each in listed] == sessions[::-1]
                client.post("/revoke-session", json={"token": sessions[0]}, headers=bearer(sessions[1]))
                client.post("/sign-out", headers=bearer(sessions[2]))
                return [status(client, session) for session in sessions]

        with ThreadPoolExecutor(16) as threads:
            lives = list(threads.map(live, range(32)))

        assert lives == [[401, 200, 401]] * 32

    def test_nothing_is_left_on_the_connections_they_share(self, instances: Instances) -> None:
        connections = instances.rows(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'gatewright' AND state <> 'idle in transaction'"
        )
        locks = instances.rows("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")

        assert 0 < connections[0][0] <= CONNECTIONS
        assert locks == [(0,)]


@pytest.mark.threat("R21")
class TestTimeouts:
    async def test_the_database_ends_statements_when_it_is_told_to(self, cluster: Cluster) -> None:
        url = cluster.create()
        direct = await asyncpg.connect(url)
        name = await direct.fetchval("SELECT current_database()")
        await direct.execute(f"ALTER DATABASE \"{name}\" SET statement_timeout = '5s'")
        await direct.close()

        with pooling(url, connections=1) as pooled:
            through = await asyncpg.connect(pooled, statement_cache_size=0)
            shown = await through.fetchval("SHOW statement_timeout")
            await through.close()

        assert shown == "5s"


@pytest.mark.threat("R21")
class TestMistaken:
    async def test_a_pooler_nobody_knows_of_is_named_at_once(self, pooled_url: str) -> None:
        with pytest.raises(DatabaseAbsent, match=r"set database\.pooler to transaction"):
            await open_database(pooled_url, pool_size=3, timeout=5, patience=600)
