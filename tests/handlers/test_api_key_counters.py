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
        "refill": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "rate": st.tuples(st.integers(1, 3), st.integers(1, 3)),
    },
)
PAUSES = st.lists(st.sampled_from([0, 0, 1, 499, 500, 999, 1000, 2000]), min_size=5, max_size=25)
"""Milliseconds before each verification."""


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

    def verify(self, now: datetime) -> tuple[str, timedelta | None]:
        """Return the code of a refusal, or an empty text, and after what time the key can be used again."""
        window_end = self.window + timedelta(seconds=self.rate[1]) if self.rate and self.window else now
        if self.rate and now < window_end and self.count >= self.rate[0]:
            return "RATE_LIMITED", window_end - now
        due = (self.refilled or self.created) + timedelta(seconds=self.refill[1]) if self.refill else None
        is_due = due is not None and now >= due
        if self.remaining == 0 and not is_due:
            return "USAGE_EXCEEDED", due - now if due else None
        if self.rate:
            self.count, self.window = (self.count + 1, self.window) if now < window_end else (1, now)
        if self.remaining is not None and self.refill and is_due:
            self.remaining, self.refilled = self.refill[0] - 1, now
        elif self.remaining is not None:
            self.remaining -= 1
        return "", None


def written(moment: datetime | None) -> str | None:
    """Return a moment as answers write it."""
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


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
        service.clock.advance(milliseconds=pause)
        refused, wait = model.verify(service.clock.now)
        verdict = (await ask(service, made["key"])).json()
        error, key = verdict["error"] or {"code": ""}, verdict["key"]
        assert error["code"] == refused
        milliseconds = wait and wait / timedelta(milliseconds=1)
        assert error.get("details", {}).get("tryAgainIn") == milliseconds
        if not refused:
            assert (key["remaining"], key["requestCount"]) == (model.remaining, model.count)
            assert key["lastRefillAt"] == written(model.refilled)
            if limits:  # Keys without any are not written to at each use.
                assert key["lastRequest"] == written(service.clock.now)
