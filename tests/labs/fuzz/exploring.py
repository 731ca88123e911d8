"""Running the machine: on a database, with a seed or always alike."""

from concurrent.futures import ThreadPoolExecutor

import hypothesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.labs.fuzz.machine import Machine
from tests.labs.fuzz.world import world
from tests.postgres import Cluster


def explore(dialect: str, cluster: Cluster | None, how: settings, seed: int | None = None) -> None:
    """Run sequences on a database. Raises what went wrong, with the sequence in a note.

    Steps take what they take, and nothing is remembered from one run to the next. All of it happens in a thread of its
    own, as the service needs an event loop and the caller may be running in one.
    """
    how = settings(how, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_explore, dialect, cluster, how, seed).result()


def _explore(dialect: str, cluster: Cluster | None, how: settings, seed: int | None) -> None:
    with world(dialect, cluster) as opened:
        machine = type("Machine", (Machine,), {"world": opened})
        run_state_machine_as_test(machine if seed is None else hypothesis.seed(seed)(machine), settings=how)
