"""Mutants of the rows WH6 and WH7: signatures of the requests to the receivers of webhooks."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Remove, Replace

MUTANTS = (
    Mutant(
        "WH6",
        "each attempt has its own time",
        "time-of-attempt",
        Replace("delivery.created_at", "value.args[3]"),
    ),
    Mutant("WH7", "an old secret signs for a time only", "overlap", Remove("value.values[2]")),
    Mutant("WH7", "an old secret signs for a time", "overlap", Replace("False", "value")),
    Mutant("WH7", "every secret signs", "signatures", Replace("secrets[:1]", "value.generators[0].iter")),
)
