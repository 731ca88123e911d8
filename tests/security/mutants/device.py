"""Mutants of sign-in by the codes of devices."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("O10", "a device asks for what its client may have", "device-scopes", Always(False)),
    Mutant(
        "O16",
        "an approval ends with its session",
        "live-session",
        Replace("await locking.lock(ctx, row.user_id)", "value"),
    ),
    Mutant(
        "O19",
        "user codes are kept as keyed digests",
        "keyed-digest",
        Replace("tokens.digest(normalized(user_code))", "value"),
    ),
    Mutant("O19", "a network without budget is told nothing", "budget", Remove()),
    Mutant("O19", "the budget of a network has an end", "network-budget", Always(False)),
    Mutant("O19", "a wrong code is a failure", "failure", Remove()),
    Mutant("O19", "a refused code is counted", "code-refusal", Replace("keeps_writes = False")),
    Mutant("O19", "of many codes at once only the budget is told", "last-failure", Always(False)),
    Mutant("O19", "a fast device stays slow", "slower-for-good", Replace("keeps_writes = False")),
    Mutant("O19", "polls have a pace", "pace", Replace("True")),
    Mutant("O19", "a decision is final", "decided-once", Remove()),
    Mutant("O19", "a device code works once", "redeemed-once", Remove()),
    Mutant("O19", "a device code is for its client", "other-client", Always(False, "test.values[1]")),
    Mutant("O19", "only users see who asks", "details", Always(True)),
    Mutant("O20", "the user is told", "notice", Remove()),
    Mutant(
        "O20",
        "only clients of the operator get a session",
        "session-clients",
        Always(False, "test.values[1]"),
    ),
)
