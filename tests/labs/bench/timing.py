"""How long something takes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def timed() -> Iterator[list[float]]:
    """Yield a list that holds the seconds afterwards."""
    taken: list[float] = []
    begun = time.perf_counter()
    yield taken
    taken.append(time.perf_counter() - begun)
