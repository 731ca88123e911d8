"""Mutants of the rows WH9, WH10, WH13 and WH17: outages, receivers that hang or are gone, and clocks that jump."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("WH9", "a failing endpoint is probed by one instance", "one-probe", Always(False)),
    Mutant("WH9", "what waited is drained bit by bit", "drain", Remove()),
    Mutant("WH9", "what waited for an endpoint that is revived is too", "revived", Remove()),
    Mutant("WH9", "a backlog has a limit", "bounded", Replace("dropped = 0")),
    Mutant("WH9", "an endpoint does not fail for ever", "disabled", Always(False)),
    Mutant(
        "WH10",
        "an endpoint has slots of its own",
        "own-slots",
        Replace("{one.row.id: share for one in chosen}", "value"),
    ),
    Mutant(
        "WH13", "an outcome belongs to one claim", "claim-number", Replace("col(columns.id).is_not(None)")
    ),
    Mutant("WH17", "an endpoint that is gone is disabled", "gone", Always(False)),
    Mutant(
        "WH17",
        "a receiver postpones by an hour at most",
        "at-most",
        Replace("failure.retry_after or timedelta(0)", "value"),
    ),
)
