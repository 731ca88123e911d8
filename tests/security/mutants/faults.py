"""Mutants of the rows R1 to R12, R42 and R46: what keeps a fault of database, disk, mail or hashing from spreading."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace, Unwrap

MUTANTS = (
    Mutant(
        "R1", "a connection that the server has closed is not used again", "closed-connection", Always(True)
    ),
    Mutant(
        "R1",
        "a refused connection is an outage",
        "refused-connection",
        Remove("cases[0].pattern.patterns[0]"),
    ),
    Mutant("R1", "the log says why", "log-outage", Remove()),
    Mutant("R2", "a start waits for the database", "patience", Always(True)),
    Mutant(
        "R3", "reads end with the time-out", "read-timeout", Replace("600", "value.value.keywords[0].value")
    ),
    Mutant(
        "R4",
        "who waits for a connection is told to come again",
        "pool-timeout",
        Replace("600", "items[0].context_expr.args[0]"),
    ),
    Mutant(
        "R5",
        "a transaction waits for the lock",
        "busy-timeout",
        Replace("0", "value.func.value.args[0].values[1].value"),
    ),
    Mutant("R5", "the extension of a session is skipped", "failed-extension", Replace("raise")),
    Mutant(
        "R6",
        "a transaction begins with the lock for writing",
        "begin-immediate",
        Replace("'DEFERRED'", "args.defaults[0]"),
    ),
    Mutant("R7", "a lost transaction is tried again", "pauses", Replace("(0.0,)", "value")),
    Mutant("R7", "the tries have an end", "pauses", Replace("(0.0,) * 2000", "value")),
    Mutant("R7", "the isolation does not depend on the server", "isolation", Replace("{}", "value")),
    Mutant("R7", "a read that loses is an outage", "lost-read", Remove("value.values[1]")),
    Mutant("R8", "a log without space breaks nothing", "log-write-error", Unwrap("elts[1]", "type")),
    Mutant("R8", "a line that was cut is finished", "torn-line", Replace("self.torn.clear()")),
    Mutant("R8", "half a mail is taken back", "half-mail", Remove()),
    Mutant(
        "R9", "a database that can only be read is an outage", "read-only", Remove("value.args[0].elts[0]")
    ),
    Mutant(
        "R10",
        "a mail that was not taken waits before the next try",
        "first-retry",
        Replace("1", "value.keywords[0].value"),
    ),
    Mutant(
        "R11", "the operator says how long a server is waited for", "smtp-timeout", Replace("600", "value")
    ),
    Mutant(
        "R11",
        "a delivery ends before somebody else may begin with it",
        "delivery-limit",
        Replace("600", "items[0].context_expr.args[0]"),
    ),
    Mutant(
        "R12",
        "what the server refuses for good is not tried again",
        "permanent-error",
        Unwrap("orelse", "value"),
    ),
    Mutant("R46", "a commit that waits is not cancelled", "commit-uncancelled", Replace("1.0", "value")),
    Mutant("R46", "a commit that waits keeps its place", "commit-place", Replace("connection.terminate()")),
    Mutant("R42", "more than the queue holds is refused", "queue-bound", Always(False, "value")),
)
