"""Mutants of the rows KEY1 to KEY22: API keys."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("KEY1", "users who manage keys have the permission", "manager", Replace("True", "value")),
    Mutant("KEY2", "keys have owners", "owner", Replace("row is None", "test")),
    Mutant("KEY2", "a key of another kind is unknown", "kind", Replace("found is None", "test")),
    Mutant("KEY4", "fields of administrators are theirs", "manager-only", Always(False)),
    Mutant("KEY5", "a key permits what was asked", "permissions", Always(False)),
    Mutant("KEY6", "the ban of the owner counts", "ban", Always(False)),
    Mutant("KEY7", "disabled keys are refused", "enabled", Always(False)),
    Mutant("KEY7", "expired keys are refused", "expiry", Always(False)),
    Mutant("KEY8", "the statement looks at what remains", "remaining", Remove()),
    Mutant("KEY8", "the statement looks at the rate limit", "rate-limit", Remove()),
    Mutant(
        "KEY11",
        "keys are sessions only by the settings",
        "sessions-setting",
        Replace("header is None", "test"),
    ),
    Mutant("KEY12", "the owner is told", "notice", Remove()),
    Mutant(
        "KEY13", "the digest decides", "digest", Replace("tokens.digest(text[:8])", "value.value.args[1]")
    ),
    Mutant(
        "KEY13",
        "only a digest is stored",
        "stored",
        Replace("text.encode()", "value.value.keywords[1].value"),
    ),
    Mutant("KEY14", "the form is checked first", "form", Replace("True", "value")),
    Mutant("KEY14", "failures are limited", "limit", Always(False)),
    Mutant("KEY14", "a verifier token is needed", "verifier", Always(False)),
    Mutant(
        "KEY14",
        "the token is compared",
        "compare",
        Replace("[name for name, expected in self.verifiers]", "value"),
    ),
    Mutant("KEY16", "prefixes of other credentials are refused", "reserved-prefix", Always(False)),
    Mutant("KEY18", "metadata has a size", "size", Always(False)),
    Mutant("KEY18", "prototypes are refused", "prototype", Always(False)),
    Mutant("KEY20", "the keys of a user are counted", "limit", Always(False)),
    Mutant("KEY21", "the powers of the owner are compared", "rank", Always(False)),
    Mutant("KEY22", "one key is sent", "one-key", Always(False)),
)
