"""What keeps a broken provider from doing harm, one by one taken out (R13 to R16)."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Before, Remove, Replace, Unwrap

MUTANTS = (
    Mutant(
        "R13", "what was published serves while the provider is down", "stale-keys", Unwrap("elts[1]", "type")
    ),
    Mutant("R14", "a call ends in time", "call-timeout", Replace("None", "args[0]")),
    Mutant(
        "R14",
        "who waits to be sent to a provider holds no row",
        "ask-provider",
        Before("if flow.user_id is not None:\n    await locking.lock_caller(ctx)"),
    ).also("lock-caller", Remove()),
    Mutant(
        "R14",
        "who waits for a profile holds no row",
        "profile-lock",
        After("from domain.users import locking\nawait locking.lock_caller(ctx)"),
    ),
    Mutant("R15", "an answer is of limited size", "response-size", Always(False)),
    Mutant("R15", "no more is inflated than may be read", "inflated-size", Remove("value.value.args[1]")),
    Mutant("R15", "what is to be text is text", "text-form", Remove("test.values[0]")),
    Mutant(
        "R16",
        "an unknown key is asked for once a minute",
        "key-pause",
        Replace("self._renewed_at = self.clock()\nawait self._fetched()"),
    ),
    Mutant("R16", "an unknown key is asked for", "key-pause", Always(False)),
)
