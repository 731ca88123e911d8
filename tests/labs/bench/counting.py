"""What counting for Prometheus costs a request: CPU time of `MetricsRegistry.request`, and of the check for it.

Run it as `python -m tests.labs.bench.counting`; it takes a few seconds. With `PROMETHEUS_MULTIPROC_DIR` set to an empty
folder it measures what each of several processes does.
"""

import time
from collections.abc import Callable

from server.api.interfaces import RequestHook
from server.observability.metrics.registry import MetricsRegistry

ROUNDS = 7
TIMES = 300_000


def microseconds(job: Callable[[], None]) -> float:
    """Return the CPU time of one turn of `job`, which makes `TIMES` turns; the best of `ROUNDS`."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        job()
        best = min(best, time.process_time() - began)
    return best / TIMES * 1e6


def empty() -> None:
    """Turn without doing anything."""
    for _ in range(TIMES):
        pass


def counting(observer: RequestHook | None) -> Callable[[], None]:
    """Return what the pipeline does at the end of each request."""

    def job() -> None:
        for _ in range(TIMES):
            if observer is not None:
                observer.request("sessions.get_current", 200, 0.0007)

    return job


def main() -> None:
    """Measure, and print microseconds of CPU time a request."""
    nothing = microseconds(empty)
    for name, observer in (("switched off", None), ("switched on", MetricsRegistry())):
        print(f"{name:14}{microseconds(counting(observer)) - nothing:.3f} µs a request")


if __name__ == "__main__":
    main()
