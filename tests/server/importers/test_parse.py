"""What stands in other programs' columns, read as far as it can be; the rest is left for the reader to refuse."""

import math

import pytest

from domain.data_import.eligibility import Problem
from server.importers import values
from server.importers.tables import instant


@pytest.mark.parametrize("value", [1_700_000_000, 1_700_000_000.0, 1_700_000_000_000])
def test_seconds_and_milliseconds_are_instants(value: float) -> None:
    assert str(instant(value)) == "2023-11-14 22:13:20+00:00"


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, 10**30, -(10**30), True])
def test_what_is_no_instant_is_refused_with_its_row_alone(value: float) -> None:
    left = instant(value)

    with pytest.raises(Problem, match="must be a time"):
        values.instant({"createdAt": left}, "createdAt")
