"""The counters of API keys against a model of them, over made-up times and calls."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import Headers, MakeService
from tests.handlers.people import add_person
from tests.handlers.test_api_keys import ask
from tests.service import Service

BOUNDED = settings(
    max_examples=25,
    phases=[Phase.generate],
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "remaining": st.integers(0, 4),
        "refill": st.tuples(st.integers(1, 4), st.integers(1, 5)),
        "rate": st.tuples(st.integers(1, 4), st.integers(1, 5)),
    },
)
PAUSES = st.lists(st.integers(0, 3), min_size=5, max_size=25)
"""Seconds before each verification."""


@dataclass
class Model:
    """What the guide says of counters, in the plainest way."""

    created: datetime
    remaining: int | None
    refill: tuple[int, int] | None
    rate: tuple[int, int] | None
    refilled: datetime | None = None
    window: datetime | None = None
    count: int = 0

    def verify(self, now: datetime) -> str:
        """Return the code of a refusal, or an empty text."""
        in_window = self.rate and self.window and now < self.window + timedelta(seconds=self.rate[1])
        if self.rate and in_window and self.count >= self.rate[0]:
            return "RATE_LIMITED"
        is_due = self.refill and now >= (self.refilled or self.created) + timedelta(seconds=self.refill[1])
        if self.remaining == 0 and not is_due:
            return "USAGE_EXCEEDED"
        if self.rate:
            self.count, self.window = (self.count + 1, self.window) if in_window else (1, now)
        if self.remaining is not None and self.refill and is_due:
            self.remaining, self.refilled = self.refill[0] - 1, now
        elif self.remaining is not None:
            self.remaining -= 1
        return ""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({"api_keys.limit_per_owner": "10000"})


@pytest.fixture
async def admin(service: Service) -> Headers:
    """The session of an administrator, who creates all keys."""
    return (await add_person(service, "admin")).headers


@pytest.mark.threat("KEY8")
@pytest.mark.both_databases
@BOUNDED
@given(limits=LIMITS, pauses=PAUSES)
async def test_they_count_as_the_model_does(
    service: Service, admin: Headers, limits: dict[str, Any], pauses: list[int]
) -> None:
    body = {key: value for key, value in limits.items() if key == "remaining"}
    if "refill" in limits:
        body |= {"refillAmount": limits["refill"][0], "refillInterval": limits["refill"][1] * 1000}
    if "rate" in limits:
        body |= {"rateLimitEnabled": True, "rateLimitMax": limits["rate"][0]}
        body["rateLimitTimeWindow"] = limits["rate"][1] * 1000
    made = (await service.post("/api-key/create", body, headers=admin)).json()
    model = Model(service.clock.now, made["remaining"], limits.get("refill"), limits.get("rate"))

    for pause in pauses:
        service.clock.advance(seconds=pause)
        expected = model.verify(service.clock.now)
        verdict = (await ask(service, made["key"])).json()
        assert (verdict["error"] or {"code": ""})["code"] == expected
        if not expected:
            assert verdict["key"]["remaining"] == model.remaining
            assert verdict["key"]["requestCount"] == model.count
