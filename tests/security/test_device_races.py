"""Devices and users at once: on SQLite, and on PostgreSQL with two instances that share one database."""

from collections import Counter

import httpx
import pytest

from tests.handlers.device_steps import (
    APPROVE,
    DENY,
    add_television,
    approve,
    decide,
    error,
    poll,
    redeem,
    start,
)
from tests.handlers.steps import ADA, EVE, code, join
from tests.security.crowd import CROWDS, all_of, turns
from tests.service import Service


@pytest.mark.both_databases
@pytest.mark.threat("O19")
@pytest.mark.parametrize("number", CROWDS)
async def test_of_many_polls_one_opens_a_session(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    television = await add_television(service)
    started = await start(service, television)
    await approve(service, started["user_code"], await join(service, ADA))

    answers = await all_of(
        [poll(each, television, started["device_code"]) for each in turns(unlimited_instances, number)]
    )

    told = Counter(error(answer) for answer in answers)
    assert told.pop("200") == 1
    assert set(told) <= {"400 slow_down", "400 invalid_grant"}
    assert len(await service.rows("SELECT id FROM session WHERE method = 'device'")) == 1


@pytest.mark.both_databases
@pytest.mark.threat("O19")
@pytest.mark.parametrize("number", CROWDS)
async def test_of_many_polls_one_gets_tokens(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    television = await add_television(service, gets_session=False)
    started = await start(service, television)
    await approve(service, started["user_code"], await join(service, ADA))

    answers = await all_of(
        [redeem(each, television, started["device_code"]) for each in turns(unlimited_instances, number)]
    )

    told = Counter(error(answer) for answer in answers)
    assert told.pop("200") == 1
    assert set(told) <= {"400 slow_down", "400 invalid_grant"}
    assert len(await service.rows("SELECT id FROM oauth_grant")) == 1
    assert len(await service.rows("SELECT token FROM oauth_token")) == 1


@pytest.mark.both_databases
@pytest.mark.threat("O19")
@pytest.mark.parametrize("number", CROWDS)
async def test_of_many_decisions_one_counts(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    television = await add_television(service)
    users = [await join(service, email) for email in (ADA, EVE)]
    started = await start(service, television)
    ways = [(user, path) for user in users for path in (APPROVE, DENY)]

    answers = await all_of(
        [
            decide(each, started["user_code"], *ways[place % len(ways)])
            for place, each in enumerate(turns(unlimited_instances, number))
        ]
    )

    assert Counter(map(code, answers)) == {"200": 1, "400 DEVICE_CODE_ALREADY_PROCESSED": number - 1}
    winner = next(place for place, answer in enumerate(answers) if answer.status_code == 200)
    is_approved = ways[winner % len(ways)][1] == APPROVE
    polled = error(await poll(service, television, started["device_code"]))
    assert polled == ("200" if is_approved else "400 access_denied")


@pytest.mark.both_databases
@pytest.mark.threat("O19")
async def test_a_poll_at_the_moment_of_the_approval_loses_nothing(unlimited_instances: list[Service]) -> None:
    service = unlimited_instances[0]
    television = await add_television(service)
    ada = await join(service, ADA)
    for _ in range(5):
        started = await start(service, television)
        requests = [
            poll(unlimited_instances[-1], television, started["device_code"]),
            decide(service, started["user_code"], ada),
        ]
        polled, decided = await all_of(requests)
        assert decided.status_code == 200
        if not _is_signed_in(polled):
            service.clock.advance(seconds=10)
            unlimited_instances[-1].clock.now = service.clock.now
            assert _is_signed_in(await poll(service, television, started["device_code"]))


@pytest.mark.both_databases
@pytest.mark.threat("O19")
async def test_an_instance_whose_clock_is_ahead_opens_no_second_session(
    unlimited_instances: list[Service],
) -> None:
    service = unlimited_instances[0]
    television = await add_television(service)
    ada = await join(service, ADA)
    for rounds in range(1, 6):
        unlimited_instances[-1].clock.advance(seconds=10)
        started = await start(service, television)
        await approve(service, started["user_code"], ada)

        answers = await all_of(
            [poll(each, television, started["device_code"]) for each in turns(unlimited_instances, 8)]
        )

        assert sum(map(_is_signed_in, answers)) == 1
        assert len(await service.rows("SELECT id FROM session WHERE method = 'device'")) == rounds


def _is_signed_in(answer: httpx.Response) -> bool:
    return error(answer) == "200"
