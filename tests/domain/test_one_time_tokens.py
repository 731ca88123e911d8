"""One-time tokens: of any number of simultaneous uses exactly one counts, on both databases."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from domain import one_time_tokens
from domain import tokens as domain_tokens
from domain.context import Context
from domain.passwords.errors import PasswordTooCommon
from models import Purpose
from tests.service import PASSWORD, START, Service

HOUR = timedelta(hours=1)


@pytest.fixture
async def user_id(service: Service) -> str:
    """A user to whom tokens may be issued."""
    answer = await service.post(
        "/sign-up/email", {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}
    )
    return str(answer.json()["user"]["id"])


async def issue(service: Service, user_id: str, purpose: Purpose = Purpose.RESET) -> str:
    return await service.services.unit_of_work.run(
        partial(one_time_tokens.issue, purpose=purpose, user_id=user_id, expires_in=HOUR)
    )


async def consume(service: Service, user_id: str, token: str, purpose: Purpose = Purpose.RESET) -> bool:
    return await service.services.unit_of_work.run(
        partial(one_time_tokens.consume, purpose=purpose, user_id=user_id, token=token)
    )


async def is_live(service: Service, token: str, purpose: Purpose = Purpose.RESET) -> bool:
    found = await service.services.unit_of_work.run(
        partial(one_time_tokens.find_live, purpose=purpose, token=token)
    )
    return found is not None


class TestConsume:
    @pytest.mark.both_databases
    async def test_of_twenty_at_once_exactly_one_counts(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        told = await asyncio.gather(*(consume(service, user_id, token) for _ in range(20)))

        assert sorted(told) == [False] * 19 + [True]

    @pytest.mark.both_databases
    async def test_every_one_of_several_tokens_counts_once(self, service: Service, user_id: str) -> None:
        tokens = [await issue(service, user_id) for _ in range(5)]

        told = await asyncio.gather(*(consume(service, user_id, token) for token in tokens * 4))

        assert [sum(told[n::5]) for n in range(5)] == [1] * 5

    async def test_wants_purpose_user_and_time(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        assert not await consume(service, user_id, token, Purpose.DELETE)
        assert not await consume(service, "x" * 32, token)
        assert not await consume(service, user_id, "x" * 32)
        service.clock.now = START + HOUR
        assert not await consume(service, user_id, token)
        service.clock.now = START + HOUR - timedelta(milliseconds=1)
        assert await consume(service, user_id, token)

    async def test_what_is_refused_afterwards_burns_nothing(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        async def use_and_refuse(ctx: Context) -> None:
            assert await one_time_tokens.consume(ctx, Purpose.RESET, user_id, token)
            raise PasswordTooCommon

        with pytest.raises(PasswordTooCommon):
            await service.services.unit_of_work.run(use_and_refuse)

        assert await consume(service, user_id, token)


class TestFindLive:
    async def test_uses_nothing_up(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        assert [await is_live(service, token) for _ in range(3)] == [True] * 3
        assert await consume(service, user_id, token)
        assert not await is_live(service, token)

    async def test_wants_purpose_and_time(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        assert not await is_live(service, token, Purpose.VERIFY)
        service.clock.now = START + HOUR
        assert not await is_live(service, token)

    @pytest.mark.parametrize("token", ["", "x" * 31, "x" * 33, "\x00" * 32, "\u00e9" * 32, "x" * 31 + "\n"])
    async def test_what_has_not_the_form_of_a_token_is_none(self, service: Service, token: str) -> None:
        assert not await is_live(service, token)


class TestRevoke:
    async def test_takes_back_the_named_purposes_of_this_user(self, service: Service, user_id: str) -> None:
        answer = await service.post(
            "/sign-up/email", {"name": "Eve", "email": "eve@example.com", "password": PASSWORD}
        )
        theirs = await issue(service, answer.json()["user"]["id"])
        tokens = {purpose: await issue(service, user_id, purpose) for purpose in Purpose}

        async def revoke(ctx: Context) -> None:
            await one_time_tokens.revoke(ctx, user_id, Purpose.RESET, Purpose.DELETE)

        await service.services.unit_of_work.run(revoke)

        live = [purpose for purpose in Purpose if await is_live(service, tokens[purpose], purpose)]
        assert live == [purpose for purpose in Purpose if purpose not in (Purpose.RESET, Purpose.DELETE)]
        assert await is_live(service, theirs)


class TestIssue:
    @pytest.mark.threat("V87")
    async def test_stores_the_digest_alone(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        [row] = await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'reset'")

        assert bytes(row.digest) == domain_tokens.digest(token)
        assert token not in str(tuple(row))
