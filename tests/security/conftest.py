"""Fixtures of the attacks: callers with a pending token, by bearer and by cookie."""

from collections.abc import Callable

import pytest

from tests.conftest import Headers
from tests.handlers.steps import bearer
from tests.security import second_factor
from tests.security.second_factor import Owner
from tests.service import Service

Carry = Callable[[str], Headers]


@pytest.fixture(params=["bearer", "cookie"])
def carry_pending(request: pytest.FixtureRequest) -> Carry:
    """How a pending token travels; every test that asks for it runs once each way."""
    if request.param == "bearer":
        return bearer
    return lambda token: second_factor.cookie(second_factor.PENDING, token)


@pytest.fixture
async def ada(service: Service) -> Owner:
    """A user with an authenticator, and signed in by it."""
    return await second_factor.enrol(service)
