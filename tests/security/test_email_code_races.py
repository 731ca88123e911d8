"""Codes used by many at once: on SQLite, and on PostgreSQL with two instances that share one database."""

import asyncio

import pytest

from tests.handlers.mailed import checked, code_for, use_code, wrong
from tests.handlers.steps import join
from tests.security.crowd import CROWDS, all_of, turns
from tests.security.limits import told
from tests.service import Service

KNOWN = pytest.mark.parametrize("is_known", [True, False])
ROUNDS = 5


@KNOWN
@pytest.mark.both_databases
@pytest.mark.threat("M18", "R21")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_code_opens_one_session(
    unlimited_instances: list[Service], number: int, is_known: bool
) -> None:
    service = unlimited_instances[0]
    if is_known:
        await join(service)
    digits = await code_for(service)

    answers = await all_of([use_code(each, digits) for each in turns(unlimited_instances, number)])

    assert told(answers) == {"200": 1, "400 INVALID_OTP": number - 1}
    assert len(await service.rows("SELECT id FROM session")) == 1


@KNOWN
@pytest.mark.both_databases
@pytest.mark.threat("M10", "R21")
@pytest.mark.parametrize("number", CROWDS)
async def test_of_many_wrong_codes_three_are_compared(
    unlimited_instances: list[Service], number: int, is_known: bool
) -> None:
    service = unlimited_instances[0]
    if is_known:
        await join(service)
    digits = await code_for(service)

    answers = await all_of([use_code(each, wrong(digits)) for each in turns(unlimited_instances, number)])

    assert told(answers) == {"400 INVALID_OTP": number - 1, "403 TOO_MANY_ATTEMPTS": 1}
    assert await service.rows("SELECT attempts FROM \"grant\" WHERE purpose = 'code-sign-in'") == []


@pytest.mark.threat("M10", "R21")
async def test_a_new_code_that_is_requested_meanwhile_can_be_used(unlimited_instances: list[Service]) -> None:
    for _ in range(ROUNDS):
        digits = await code_for(unlimited_instances[0])
        trying = [use_code(each, wrong(digits)) for each in turns(unlimited_instances, 2)]
        newer, _ = await asyncio.gather(code_for(unlimited_instances[-1]), all_of(trying))
        [row] = await unlimited_instances[0].rows('SELECT attempts FROM "grant"')
        assert row.attempts <= 2
        assert await checked(unlimited_instances[0], newer) == "200"
