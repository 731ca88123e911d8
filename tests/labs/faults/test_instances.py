"""Row R21: two instances behind HAProxy serve one PostgreSQL, and no client can tell that they are two."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.contract.reading import JSON_OPERATIONS
from tests.handlers.steps import bearer
from tests.haproxy import INSTANCE
from tests.labs.faults.instances import VISITOR, Instances, Way, all_steps, events, served_by
from tests.labs.faults.steps import IN_ONE_PROCESS, ask_for_reset, faults, join, status, succeeded, token_of
from tests.labs.provider.process import ProviderProcess
from tests.live import LiveService
from tests.postgres import Cluster
from tests.security.everything import OF_UNDELIVERED_MAIL
from tests.service import PASSWORD

TURNS = 60.0
"""Seconds in which the balancer has to notice that an instance is gone, or is back."""


@pytest.fixture(scope="module")
def way(cluster: Cluster) -> Way:
    """Each instance has one process, and nothing stands between it and the database."""
    return Way(cluster.create(migrated=True))


@pytest.fixture
def balanced(instances: Instances) -> Iterator[httpx.Client]:
    """A client of the balancer, without a memory for cookies: each request says for itself who it is from."""
    with instances.client() as client:
        yield client


@pytest.fixture
def each(instances: Instances) -> Iterator[list[httpx.Client]]:
    """A client of each instance."""
    with instances.client(0) as first, instances.client(1) as second:
        yield [first, second]


@pytest.mark.threat("R21")
class TestJourney:
    def test_every_operation_works_with_each_step_on_the_other_instance(
        self, instances: Instances, provider_process: ProviderProcess
    ) -> None:
        answers = all_steps(instances, provider_process)

        assert succeeded(answers) | IN_ONE_PROCESS | OF_UNDELIVERED_MAIL == set(JSON_OPERATIONS)
        assert faults(answers) == set()
        # doctor asks the public URL itself, so the request after it is answered by the same instance again.
        turns = [pair for pair in pairwise(answers) if pair[0].operation_id != "doctor.run"]
        assert all(len(set(served_by(pair))) == 2 for pair in turns)
        assert set(served_by(answers)) == set(instances.names)

    def test_each_mail_goes_out_once_though_both_deliver(
        self, instances: Instances, balanced: httpx.Client
    ) -> None:
        names = [f"mailed-{number}" for number in range(12)]

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(lambda name: join(balanced, name), names))
            list(threads.map(lambda name: ask_for_reset(balanced, name), names))
        instances.wait_for_rows("SELECT count(*) FROM outbox WHERE state IN ('unresolved', 'queued')", [(0,)])

        delivered = Counter(mail["id"] for mail in instances.mails())
        assert [count for count in delivered.values() if count != 1] == []
        assert {row[0] for row in instances.rows("SELECT id FROM outbox")} <= set(delivered)
        resets = Counter(mail["to"] for mail in instances.mails() if mail["template"] == "reset-password")
        assert {name: resets[f"{name}@example.com"] for name in names} == dict.fromkeys(names, 1)
        assert all(events(live, "mail.sent") for live in instances.running)


@pytest.mark.threat("R21")
class TestShared:
    def test_one_of_them_cleans_up(self, instances: Instances) -> None:
        [(holder,)] = instances.rows("SELECT holder FROM lease WHERE name = 'cleanup'")

        done = [len(events(live, "cleanup.done")) for live in instances.running]

        assert holder
        assert sorted(done) == [0, 1]

    def test_the_address_is_that_of_the_client(self, balanced: httpx.Client) -> None:
        session = join(balanced, "visitor")
        forged = {**bearer(session), "X-Forwarded-For": "203.0.113.7"}

        shown = [
            balanced.get("/get-session", headers=headers).json()["session"]["ipAddress"]
            for headers in (bearer(session), forged)
        ]
        again = balanced.post(
            "/sign-in/email",
            json={"email": "visitor@example.com", "password": PASSWORD},
            headers={"X-Forwarded-For": "203.0.113.7"},
        )
        listed = balanced.get("/list-sessions", headers=bearer(token_of(again))).json()

        assert shown == [VISITOR, VISITOR]
        assert [each["ipAddress"] for each in listed] == [VISITOR, VISITOR]


@pytest.mark.threat("R21")
class TestDeath:
    def test_the_balancer_goes_on_when_one_is_killed_and_takes_it_back(self, instances: Instances) -> None:
        with instances.client() as client, instances.client() as other:
            session = join(client, "survivor")
            asking = Asking(other, session)
            port = int(instances.running[1].url.rpartition(":")[2])

            with asking:
                asking.wait_for(lambda seen: set(seen) == set(instances.names))
                instances.running[1].process.kill()
                instances.running[1].process.wait()
                after = [status(client, session) for _ in range(20)]
                asking.wait_for_more(50)

            assert after == [200] * 20
            assert asking.failures == []
            with instances.serve(1, port=port) as revived:
                self._comes_back(client, revived, session, instances.names[1])

    def _comes_back(self, client: httpx.Client, revived: LiveService, session: str, name: str) -> None:
        with Asking(client, session) as asking:
            asking.wait_for(lambda seen: name in seen)

        assert asking.failures == []
        assert revived.process.poll() is None


class Asking(threading.Thread):
    """A client that asks for its session again and again, one request after the other."""

    def __init__(self, client: httpx.Client, session: str) -> None:
        super().__init__()
        self._client = client
        self._session = session
        self._stopping = threading.Event()
        self._more = threading.Condition()
        self.seen: list[str] = []
        """Which instance has answered with the session each time."""
        self.failures: list[str] = []

    def __enter__(self) -> "Asking":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                answer = self._client.get("/get-session", headers=bearer(self._session)).raise_for_status()
            except httpx.HTTPError as failure:
                self.failures.append(repr(failure))
            else:
                with self._more:
                    self.seen.append(answer.headers[INSTANCE])
                    self._more.notify_all()

    def wait_for(self, condition: Any) -> None:
        """Wait until the instances seen so far are as they should be."""
        with self._more:
            assert self._more.wait_for(lambda: condition(self.seen), TURNS), self.seen[-10:]

    def wait_for_more(self, number: int) -> None:
        """Wait for so many more answers."""
        wanted = len(self.seen) + number
        self.wait_for(lambda seen: len(seen) >= wanted)
