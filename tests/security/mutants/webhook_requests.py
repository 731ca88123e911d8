"""Mutants of the rows WH6, WH7 and WH11: what receivers of webhooks can trust."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Remove, Replace, Respell

MUTANTS = (
    Mutant(
        "WH6",
        "each attempt has its own time",
        "time-of-attempt",
        Replace("delivery.created_at", "value.args[3]"),
    ),
    Mutant(
        "WH6",
        "a receiver of the guide verifies",
        "receiver",
        Respell("webhook.verify(body, dict(request.headers))", "body.decode()"),
    ),
    Mutant("WH7", "an old secret signs for a time only", "overlap", Remove("value.values[2]")),
    Mutant("WH7", "an old secret signs for a time", "overlap", Replace("False", "value")),
    Mutant("WH7", "every secret signs", "signatures", Replace("secrets[:1]", "value.generators[0].iter")),
    Mutant(
        "WH11",
        "an event is written with the change",
        "in-transaction",
        Replace("ctx.after_refusal[write].append(occurrence)"),
    ),
)
