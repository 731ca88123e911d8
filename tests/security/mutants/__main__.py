"""Do the tests of the threat list notice when a defence is missing? `make mutants`, or by hand:

    python -m tests.security.mutants [--top] [ROW …]

Each mutant is a copy of the tree with one defence taken out. The tests of its row run there and must fail; a mutant
that survives is a defence that nothing watches. Answers 1 when one is not killed, for whatever reason.
"""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.postgres import Cluster
from tests.security import threats
from tests.security.mutants import lists
from tests.security.mutants.mutant import Mutant
from tests.security.mutants.trials import Outcome, Tree


def main(arguments: Sequence[str]) -> int:
    """Try the mutants of the given rows, of the top rows, or of all, and print a line for each; give the exit code."""
    # Whoever ends this ends the database server with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    known = lists.read()
    named = [threats.row_name(argument) for argument in arguments if argument != "--top"]
    rows = [*named, *lists.TOP] if "--top" in arguments else named
    wanted = lists.of_rows(known, rows) if rows else known
    for row in sorted(set(rows) - {mutant.row for mutant in known}):
        print(f"{row:5}has no mutant")
    cluster = Cluster()
    cluster.start()
    try:
        with tempfile.TemporaryDirectory(prefix="gatewright-mutants-") as directory:
            return _try_all(Tree(Path(directory), threats.places(), cluster), wanted)
    finally:
        cluster.stop()


def _try_all(tree: Tree, wanted: Sequence[Mutant]) -> int:
    outcome = tree.run({mutant.row for mutant in wanted})
    if outcome.failed is not False:
        print("The tests fail before anything is taken out; nothing can be learned.", *_last_lines(outcome))
        return 1
    survivors = 0
    for mutant in wanted:
        verdict = tree.attempt(mutant)
        survivors += not verdict.startswith("killed")
        print(f"{mutant.row:5}{mutant.defence:70}{verdict}", flush=True)
    print(f"{len(wanted) - survivors} of {len(wanted)} killed")
    return 1 if survivors else 0


def _last_lines(outcome: Outcome) -> list[str]:
    return ["", *outcome.printed.splitlines()[-20:]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
