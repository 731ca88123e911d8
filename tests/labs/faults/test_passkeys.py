"""Passkeys while PostgreSQL stops and comes back, and at two instances."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.authenticator import Authenticator
from tests.handlers.passkey_steps import REGISTER, SIGN_IN, add, options, passkeys_of, register_options
from tests.handlers.steps import code, join
from tests.labs.faults.asking import UNAVAILABLE, until_ready
from tests.labs.faults.engines import OwnCluster
from tests.service import Service, running_service

SETTINGS = {"limits.enabled": "false", "secrets": "s" * 32, "database.timeout": "2s"}


@pytest.mark.threat("P24")
async def test_a_response_waits_for_the_database(server: OwnCluster, tmp_path: Path) -> None:
    async with running_service(server.create(migrated=True), tmp_path, SETTINGS) as service:
        ada, device, other = await join(service), Authenticator(), Authenticator()
        await add(service, ada, device)
        used = {"response": device.get(await options(service))}
        created = {"response": other.create(await register_options(service, ada))}
        await asyncio.to_thread(server.halt)
        refused = [await service.post(SIGN_IN, used), await service.post(REGISTER, created, headers=ada)]
        await asyncio.to_thread(server.resume)
        await until_ready(service)
        answers = [await service.post(REGISTER, created, headers=ada), await service.post(SIGN_IN, used)]
        there = await passkeys_of(service, ada)

    assert {code(answer) for answer in refused} == {UNAVAILABLE}
    assert [code(answer) for answer in answers] == ["200", "200"]
    assert len(there) == 2


@pytest.mark.threat("P19")
async def test_a_response_counts_once_at_two_instances(server: OwnCluster, tmp_path: Path) -> None:
    url = server.create(migrated=True)
    async with (
        running_service(url, tmp_path, SETTINGS) as one,
        running_service(url, tmp_path, SETTINGS) as two,
    ):
        ada, device, other = await join(one), Authenticator(counter=1), Authenticator()
        await add(one, ada, device)
        device.counter = 2
        used = {"response": device.get(await options(one))}
        created = {"response": other.create(await register_options(one, ada))}

        async def submit(service: Service, path: str) -> str:
            body, headers = (used, {}) if path == SIGN_IN else (created, ada)
            answer = await service.post(path, body, headers=headers)
            service.client.cookies.clear()
            return code(answer)

        signed_in = await asyncio.gather(*(submit(each, SIGN_IN) for each in (one, two) * 25))
        stored = await asyncio.gather(*(submit(each, REGISTER) for each in (one, two) * 25))
        there = await passkeys_of(one, ada)

    once = {"200": 1, "400 CHALLENGE_NOT_FOUND": 49}
    assert (Counter(signed_in), Counter(stored)) == (once, once)
    assert len(there) == 2
