"""Do the tests of the threat list notice when a defence is missing? `make mutants`, or by hand:

    python -m tests.security.mutants [--top] [ROW …]
    python -m tests.security.mutants --check

Each mutant is a copy of the tree without one defence. The tests of its row run there and must fail; if a mutant
survives, no test checks the defence. The exit code is 1 if a mutant is not killed, for whatever reason. `--check` runs
no tests: it checks that every mutant can be applied and that every mark in the source belongs to a mutant.
"""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests import marks
from tests.postgres import Cluster
from tests.security import threats
from tests.security.mutants import check, lists
from tests.security.mutants.mutant import Mutant
from tests.security.mutants.trials import Outcome, Tree
from tests.security.threats import ROOT


def main(arguments: Sequence[str]) -> int:
    """Try the mutants of the given rows, of the top rows, or all, and print a line for each; return the exit code."""
    if "--check" in arguments:
        problems = check.problems(lists.read(), ROOT)
        print(*problems, sep="\n", file=sys.stderr)
        return 1 if problems else 0
    # Whoever ends this ends the database server with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    known = lists.read()
    named = [threats.row_name(argument) for argument in arguments if argument != "--top"]
    rows = [*named, *lists.TOP] if "--top" in arguments else named
    wanted = lists.of_rows(known, rows) if rows else known
    for row in sorted(set(rows) - {mutant.row for mutant in known}):
        print(f"{row:6}has no mutant")
    cluster = Cluster()
    cluster.start()
    try:
        with tempfile.TemporaryDirectory(prefix="gatewright-mutants-") as directory:
            return _try_all(Tree(Path(directory), marks.places("threat"), cluster), wanted)
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
        print(f"{mutant.row:6}{mutant.defence:70}{verdict}", flush=True)
    print(f"{len(wanted) - survivors} of {len(wanted)} killed")
    return 1 if survivors else 0


def _last_lines(outcome: Outcome) -> list[str]:
    return ["", *outcome.printed.splitlines()[-20:]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
