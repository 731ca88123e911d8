"""Random sequences for as long as one likes: `make fuzz`, or by hand `python -m tests.labs.fuzz --help`.

Each round has a seed of its own. A round that fails is made as short as it can be, printed step by step, and can be run
again by its seed.
"""

import itertools
import logging
import random
import signal
import sys
import time
import traceback
from contextlib import ExitStack
from typing import Annotated, Literal

import structlog
import typer
from hypothesis import Phase, settings

from tests.labs.fuzz.exploring import explore
from tests.postgres import Cluster

SEQUENCES = 20
"""How many sequences a round has."""

PHASES = (Phase.generate, Phase.shrink)

Databases = Literal["both", "sqlite", "postgresql"]


def main(
    seconds: Annotated[float, typer.Option(help="How long to go on; the last round is finished.")] = 600,
    seed: Annotated[int | None, typer.Option(help="Run the round with this seed, and no other.")] = None,
    steps: Annotated[int, typer.Option(help="The longest sequence.")] = 80,
    database: Annotated[Databases, typer.Option(help="Where to run; both take turns.")] = "both",
) -> None:
    """Try random sequences of operations against the model, and stop at the first that goes wrong."""
    # Whoever ends this ends the database server with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    dialects = ("sqlite", "postgresql") if database == "both" else (database,)
    rounds = itertools.cycle(dialects) if seed is None else iter(dialects)
    until = time.monotonic() + seconds
    with ExitStack() as stack:
        cluster = Cluster() if "postgresql" in dialects else None
        if cluster is not None:
            cluster.start()
            stack.callback(cluster.stop)
        for dialect in rounds:
            if seed is None and time.monotonic() > until:
                return
            chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
            _round(dialect, cluster if dialect == "postgresql" else None, chosen, steps)


def _round(dialect: str, cluster: Cluster | None, seed: int, steps: int) -> None:
    began, again = time.monotonic(), f"--seed {seed} --database {dialect} --steps {steps}"
    print(f"{again}: ", end="", flush=True)
    how = settings(
        max_examples=SEQUENCES, stateful_step_count=steps, phases=PHASES, report_multiple_bugs=False
    )
    try:
        explore(dialect, cluster, how, seed)
    except Exception as fault:
        traceback.print_exc()
        print(f'Found, and made short, in {time.monotonic() - began:.0f} s. Again: make fuzz ARGS="{again}"')
        raise typer.Exit(1) from fault
    print(f"{SEQUENCES} sequences in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    typer.run(main)
