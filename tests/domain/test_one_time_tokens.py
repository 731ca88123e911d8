"""One-time tokens: of any number of simultaneous uses exactly one counts, on both databases."""

from datetime import timedelta
from functools import partial

import pytest

from domain import one_time_tokens
from domain import tokens as domain_tokens
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


class TestConsume:
    async def test_wants_purpose_user_and_time(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        assert not await consume(service, user_id, token, Purpose.DELETE)
        assert not await consume(service, "x" * 32, token)
        assert not await consume(service, user_id, "x" * 32)
        service.clock.now = START + HOUR
        assert not await consume(service, user_id, token)
        service.clock.now = START + HOUR - timedelta(milliseconds=1)
        assert await consume(service, user_id, token)


class TestIssue:
    @pytest.mark.threat("V87")
    async def test_stores_the_digest_alone(self, service: Service, user_id: str) -> None:
        token = await issue(service, user_id)

        [row] = await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'reset'")

        assert bytes(row.digest) == domain_tokens.digest(token)
        assert token not in str(tuple(row))
