"""Random sequences of operations by several users: the service does what the model says, step by step.

Here a bounded number of sequences, always the same ones; `make fuzz` goes on for as long as it is let.
"""

import pytest
from hypothesis import Phase, settings

from tests.labs.fuzz.exploring import explore

pytestmark = pytest.mark.long

SUITE = settings(derandomize=True, stateful_step_count=40, phases=[Phase.generate])
"""`make fuzz` makes a failure smaller, and prints it."""

SEQUENCES = {"sqlite": 20, "postgresql": 10}
"""What takes about twenty seconds of a processor, and about ten."""


def test_operations_do_what_the_model_says(dialect: str, request: pytest.FixtureRequest) -> None:
    cluster = request.getfixturevalue("cluster") if dialect == "postgresql" else None

    explore(dialect, cluster, settings(SUITE, max_examples=SEQUENCES[dialect]))
