"""Signing keys: created once, announced, rotated, retired, revoked, on two instances and through changes of secrets."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError
from joserfc.jwk import KeySet

from domain.jwt import rotation
from domain.jwt.rotation import GRACE, State
from server.components.jwt import EVERY, SigningKeyStore
from server.components.key_rotation import reencrypt
from server.crypto.jwt import generate
from tests.conftest import MakeService
from tests.handlers.steps import code, execute, join
from tests.postgres import Cluster
from tests.service import START, Service, close_service, open_service

OLD, NEW = "o" * 32, "n" * 32
SHORT = {"secrets": OLD, "jwt.rotation_interval": "1d", "jwt.publish_ahead": "1h", "jwt.keep": "2d"}

Start = Callable[..., Awaitable[Service]]


@pytest.fixture
def url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    if dialect == "postgresql":
        return str(request.getfixturevalue("cluster").create(migrated=True))
    (tmp_path / "gatewright.db").write_bytes(migrated_file.read_bytes())
    return f"sqlite:///{tmp_path / 'gatewright.db'}"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """One instance with short times, and new keys."""
    service = await make_service(SHORT)
    await service.services.port[SigningKeyStore].prepare()
    return service


@pytest.fixture
async def start(url: str, tmp_path: Path) -> AsyncIterator[Start]:
    """Start an instance on the database of the test, by default with short times."""
    async with AsyncExitStack() as running:

        async def start(**more: str) -> Service:
            service = await open_service(
                url, tmp_path, SHORT | {key.replace("__", "."): more[key] for key in more}
            )
            running.push_async_callback(close_service, service)
            return service

        yield start


async def states(service: Service) -> list[tuple[str, State]]:
    """Return algorithm and state of every key, newest first."""
    rows = await service.services.unit_of_work.run(rotation.list_keys)
    return [(row.algorithm, state) for row, state in rows]


async def published(service: Service) -> list[str]:
    return [key["kid"] for key in (await service.get("/jwks")).json()["keys"]]


async def issued(service: Service, headers: dict[str, str]) -> str:
    answer = await service.get("/token", headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


def kid_of(token: str) -> str:
    return str(json.loads(urlsafe_b64decode(token.partition(".")[0] + "=="))["kid"])


async def events(service: Service) -> list[str]:
    """Return the audit events about keys, in their order."""
    rows = await service.rows("SELECT event FROM audit WHERE event LIKE 'signing_key.%' ORDER BY time, event")
    return [row.event.removeprefix("signing_key.") for row in rows]


async def maintain(*services: Service) -> None:
    for service in services:
        await service.services.port[SigningKeyStore].maintain()


async def advance(*services: Service, **time: float) -> None:
    """Move the clock on, and run the background task."""
    for service in services:
        service.clock.advance(**time)
    await maintain(*services)


async def rotate(service: Service, *, at_once: bool) -> None:
    keys = service.services.port[SigningKeyStore]
    rule = partial(rotation.rotate, holder=keys.holder, at_once=at_once)
    assert await keys.change(["ES256"], lambda pairs: partial(rule, pairs=pairs.values()))


async def revoke(service: Service, kid: str) -> None:
    keys = service.services.port[SigningKeyStore]
    rule = partial(rotation.revoke, kid=kid, holder=keys.holder)
    assert await keys.change(["ES256"], lambda pairs: partial(rule, pairs=pairs))


class TestMaking:
    @pytest.mark.both_databases
    @pytest.mark.threat("JWT11")
    async def test_of_many_instances_one_makes_the_keys(self, start: Start) -> None:
        services = await asyncio.gather(*(start(jwt__algorithms="ES256,EdDSA") for _ in range(5)))

        assert sorted(await states(services[0])) == [("ES256", State.SIGNING), ("EdDSA", State.SIGNING)]
        documents = {(await service.get("/jwks")).content for service in services}
        assert len(documents) == 1
        assert await events(services[0]) == ["activated", "activated", "created", "created"]

    @pytest.mark.both_databases
    @pytest.mark.threat("JWT11")
    async def test_an_instance_without_the_lease_or_after_another_stores_nothing(
        self, service: Service
    ) -> None:
        keys = service.services.port[SigningKeyStore]
        lost = partial(rotation.rotate, pairs=[generate("ES256")], holder="nobody", at_once=True)
        late = partial(rotation.maintain, holder=keys.holder)

        with pytest.raises(Exception, match="Service unavailable"):
            await service.services.unit_of_work.run(lost)
        await keys.change(["ES256"], lambda pairs: partial(late, pairs=pairs))

        assert await states(service) == [("ES256", State.SIGNING)]

    async def test_an_added_algorithm_gets_its_key_at_the_start(self, start: Start) -> None:
        await start()

        service = await start(jwt__algorithms="EdDSA,ES256")

        assert sorted(await states(service)) == [("ES256", State.SIGNING), ("EdDSA", State.SIGNING)]


class TestRotation:
    async def test_a_key_is_announced_then_signs_then_retires_then_is_gone(self, service: Service) -> None:
        [first] = await published(service)
        seen = []
        for hours in (22.9, 0.2, 1, 1, 47):
            await advance(service, hours=hours)
            seen.append([state for _, state in await states(service)])

        assert seen == [
            [State.SIGNING],
            [State.ANNOUNCED, State.SIGNING],
            [State.SIGNING, State.RETIRED],
            [State.SIGNING, State.RETIRED],
            [State.SIGNING, State.RETIRED, State.GONE],
        ]
        assert first not in await published(service)

    async def test_the_private_part_of_a_retired_key_is_erased(self, service: Service) -> None:
        [first] = await published(service)
        await advance(service, hours=23)
        await advance(service, hours=1)
        kept = await service.rows("SELECT 1 FROM signing_key WHERE private_jwk IS NULL")

        await advance(service, seconds=GRACE.total_seconds() + EVERY)
        [erased] = await service.rows("SELECT kid FROM signing_key WHERE private_jwk IS NULL")

        assert (kept, erased.kid) == ([], first)
        assert await events(service) == ["activated", "created", "created", "activated", "retired"]
        assert first in await published(service)

    @pytest.mark.threat("JWT8")
    async def test_a_verifier_that_keeps_the_keys_for_five_minutes_knows_every_token(
        self, start: Start
    ) -> None:
        one, other = await start(), await start()
        ada = await join(one)
        known, fetched, kids = KeySet([]), START, set()
        await advance(one, hours=22.9)
        await advance(other, hours=22.9)

        for minute in range(80):
            if (one.clock.now - fetched).total_seconds() >= 300:
                source = (one, other)[minute % 2]
                answer = await source.get("/jwks")
                assert answer.headers["cache-control"] == "public, max-age=300"
                known, fetched = KeySet.import_key_set(answer.json()), one.clock.now
            for token in await asyncio.gather(*(issued(service, ada) for service in (one, other))):
                jwt.decode(token, known, algorithms=["ES256"])
                kids.add(kid_of(token))
            await advance(one, minutes=1)
            if minute % 3 == 0:
                await advance(other, minutes=3)

        assert len(kids) == 2
        assert len(await states(one)) == 2

    @pytest.mark.threat("JWT8")
    async def test_a_late_task_still_announces_a_key_before_it_signs(self, service: Service) -> None:
        ada = await join(service)
        first = kid_of(await issued(service, ada))

        await advance(service, hours=23.9)
        service.clock.advance(minutes=30)
        still = kid_of(await issued(service, ada))
        service.clock.advance(minutes=31)
        then = kid_of(await issued(service, ada))

        assert still == first != then

    async def test_keys_are_kept_for_ever_where_rotation_is_off(self, start: Start) -> None:
        service = await start(jwt__rotation_interval="0")
        await advance(service, days=36000)
        for_ever = await states(service)

        again = await start()
        again.clock.now = service.clock.now
        await maintain(again)

        assert for_ever == [("ES256", State.SIGNING)]
        assert [state for _, state in await states(again)] == [State.ANNOUNCED, State.SIGNING]

    @pytest.mark.threat("JWT13")
    async def test_clocks_a_minute_apart_change_nothing(self, start: Start) -> None:
        ahead, behind = await start(), await start()
        ada = await join(ahead)
        ahead.clock.advance(seconds=60)
        await advance(ahead, hours=23)
        await advance(behind, hours=23)
        await advance(ahead, hours=1, seconds=5)
        await advance(behind, hours=1, seconds=5)

        tokens = [await issued(service, ada) for service in (ahead, behind)]
        keys = KeySet.import_key_set((await behind.get("/jwks")).json())
        claims = [jwt.decode(token, keys, algorithms=["ES256"]).claims for token in tokens]

        assert claims[0]["iat"] - claims[1]["iat"] == 60
        assert "nbf" not in claims[0]

    @pytest.mark.threat("JWT13")
    async def test_an_instance_with_a_slow_clock_signs_with_the_new_key_of_another(
        self, start: Start
    ) -> None:
        ahead = await start()
        ada = await join(ahead)
        ahead.clock.advance(minutes=5)
        await revoke(ahead, kid_of(await issued(ahead, ada)))
        behind = await start()

        kids = {kid_of(await issued(service, ada)) for service in (ahead, behind)}

        assert len(kids) == 1
        for service in (ahead, behind):
            assert sorted(await states(service)) == [("ES256", State.REVOKED), ("ES256", State.SIGNING)]


class TestByTheOperator:
    async def test_rotate_announces(self, service: Service) -> None:
        service.clock.advance(seconds=1)

        await rotate(service, at_once=False)

        assert [state for _, state in await states(service)] == [State.ANNOUNCED, State.SIGNING]
        with pytest.raises(Exception, match="already announced"):
            await rotate(service, at_once=False)
        service.clock.advance(hours=1)
        assert [state for _, state in await states(service)] == [State.SIGNING, State.RETIRED]

    async def test_rotate_at_once_signs_at_once(self, service: Service) -> None:
        ada = await join(service)
        before = kid_of(await issued(service, ada))
        service.clock.advance(seconds=1)

        await rotate(service, at_once=True)

        after = kid_of(await issued(service, ada))
        assert before != after
        assert await published(service) == [after, before]

    @pytest.mark.both_databases
    @pytest.mark.threat("JWT9")
    async def test_a_revoked_key_is_gone_from_every_instance_and_replaced(self, start: Start) -> None:
        one, other = await start(), await start()
        ada = await join(one)
        leaked = await issued(one, ada)

        await revoke(one, kid_of(leaked))
        await advance(other, seconds=EVERY)

        fresh = await issued(other, ada)
        for service in (one, other):
            assert await published(service) == [kid_of(fresh)]
        assert EVERY <= 30
        keys = KeySet.import_key_set((await other.get("/jwks")).json())
        assert jwt.decode(fresh, keys, algorithms=["ES256"])
        with pytest.raises(InvalidKeyIdError):
            jwt.decode(leaked, keys, algorithms=["ES256"])
        assert [row.private_jwk for row in await one.rows(
            "SELECT private_jwk FROM signing_key WHERE revoked_at IS NOT NULL"
        )] == [None]  # fmt: skip
        assert (await events(one)).count("revoked") == 1

    async def test_a_replacement_signs_until_the_announced_key_does(self, service: Service) -> None:
        [first] = await published(service)
        await advance(service, hours=23)
        [announced, _] = await published(service)

        await revoke(service, first)
        replaced = [state for _, state in await states(service)]
        service.clock.advance(hours=1)
        ada = await join(service)

        assert sorted(replaced) == ["announced", "revoked", "signing"]
        assert kid_of(await issued(service, ada)) == announced

    async def test_only_a_key_that_is_there_is_revoked_and_once(self, service: Service) -> None:
        [first] = await published(service)

        with pytest.raises(Exception, match="no signing key"):
            await revoke(service, "unknown")
        await revoke(service, first)
        with pytest.raises(Exception, match="already revoked"):
            await revoke(service, first)


class TestSecrets:
    @pytest.mark.threat("JWT10")
    async def test_keys_follow_a_changed_secret(self, start: Start) -> None:
        old = await start()
        ada = await join(old)
        before = kid_of(await issued(old, ada))

        both = await start(secrets=f"{NEW},{OLD}")
        left = await reencrypt(both.services.database.transaction, both.services.cipher)
        new = await start(secrets=NEW)

        assert left["signing_key.private_jwk"] == 0
        assert kid_of(await issued(new, ada)) == before

    @pytest.mark.threat("JWT10")
    async def test_a_secret_that_is_gone_too_early_costs_no_token(self, start: Start) -> None:
        old = await start()
        ada = await join(old)
        before = await issued(old, ada)

        new = await start(secrets=NEW, metrics__port="0")
        after = await issued(new, ada)

        keys = KeySet.import_key_set((await new.get("/jwks")).json())
        for token in (before, after):
            assert jwt.decode(token, keys, algorithms=["ES256"])
        assert kid_of(before) != kid_of(after)
        metrics = new.services.metrics
        assert metrics is not None
        assert metrics.registry.get_sample_value("gatewright_signing_keys_undecipherable") == 1
        assert (
            metrics.registry.get_sample_value("gatewright_tokens_issued_total", {"algorithm": "ES256"}) == 1
        )

    @pytest.mark.threat("JWT10")
    async def test_instances_with_different_secrets_do_not_make_keys_for_ever(self, start: Start) -> None:
        old, new = await start(), await start(secrets=NEW)

        for _ in range(3):
            await advance(old, new, seconds=EVERY)

        assert len(await states(old)) == 2


class TestWithoutADatabase:
    @pytest.mark.both_databases
    @pytest.mark.threat("JWT12")
    @pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
    async def test_keys_are_published_from_memory(self, start: Start, url: str, cluster: Cluster) -> None:
        service = await start()
        ada = await join(service)
        before = await service.get("/jwks")
        connection = await asyncpg.connect(cluster.url())
        await connection.execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')
        await connection.close()

        after, token = await service.get("/jwks"), await service.get("/token", headers=ada)

        assert (after.status_code, after.content) == (200, before.content)
        assert code(token) == "503 SERVICE_UNAVAILABLE"
        assert kid_of(await service.services.port[SigningKeyStore].sign({}, START))


@pytest.mark.both_databases
@pytest.mark.threat("JWT6")
async def test_what_ends_or_changes_counts_at_once(start: Start) -> None:
    instances = [await start(jwt__claims="role") for _ in range(2)]
    for number, (end, status) in enumerate(
        (
            ("DELETE FROM session", 401),
            ('UPDATE "user" SET banned = true', 401),
            ('DELETE FROM "user"', 401),
            ("UPDATE \"user\" SET role = 'admin'", 200),
        )
    ):
        ada = await join(instances[0], f"ada{number}@example.com")
        for service in instances:
            await issued(service, ada)
        await execute(instances[0], end)

        answers = [await service.get("/token", headers=ada) for service in instances]

        assert [answer.status_code for answer in answers] == [status, status], end
    keys = KeySet.import_key_set((await instances[1].get("/jwks")).json())
    claims: dict[str, Any] = jwt.decode(answers[1].json()["token"], keys, algorithms=["ES256"]).claims
    assert (claims["role"], claims["exp"] - claims["iat"]) == ("admin", 300)


def test_no_key_has_a_name_that_commands_read_as_an_option() -> None:
    names = {generate("EdDSA").kid[0] for _ in range(500)}

    assert len(names) > 1
    assert "-" not in names
