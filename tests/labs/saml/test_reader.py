"""What reading costs, and that changed messages are refused or mean the same."""

import random
import time

import pytest

from tests.labs.saml.fuzzing import run
from tests.server.saml.provider import EXPECTED, NOW, SAML, answer, encoded, own, provider

MOST_TIMES = 5
"""What a response of 20 KiB costs, in those of 4 KiB. It took 2 ms of a processor where one of 4 KiB took 0.7 ms."""


@pytest.mark.threat("SSO1", "SSO2")
def test_changed_messages_are_refused_or_mean_the_same() -> None:
    accepted, wrong = run(random.Random(20261128), 4_000)

    assert wrong == []
    assert accepted > 100


def test_a_response_of_20_kib_costs_little_more_than_one_of_4() -> None:
    small, large = _message(1), _message(170)
    assert 20_480 < len(large) * 3 / 4 < 22_000

    assert _seconds(large) < MOST_TIMES * _seconds(small)


def _message(values: int) -> str:
    value = f"<saml:AttributeValue>{'group' * 12}</saml:AttributeValue>"
    return encoded(answer(attributes=f'<saml:Attribute Name="groups">{value * values}</saml:Attribute>'))


def _seconds(message: str) -> float:
    """Return the least processor time that reading took."""
    taken = []
    for _ in range(50):
        begun = time.process_time()
        SAML.read_response(message, own(), provider(), EXPECTED, NOW)
        taken.append(time.process_time() - begun)
    return min(taken)
