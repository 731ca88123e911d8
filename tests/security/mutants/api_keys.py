"""Mutants of the rows KEY1 to KEY25: API keys."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("KEY1", "users who manage keys have the permission", "manager", Replace("True", "value")),
    Mutant("KEY2", "keys have owners", "owner", Replace("row is None", "test")),
    Mutant("KEY2", "a key of another kind is unknown", "kind", Replace("seen is None", "test")),
    Mutant("KEY4", "fields of administrators are theirs", "manager-only", Always(False)),
    Mutant("KEY5", "a key permits what was asked", "permissions", Always(False)),
    Mutant("KEY6", "the ban of the owner counts", "ban", Always(False)),
    Mutant("KEY7", "disabled keys are refused", "enabled", Always(False)),
    Mutant("KEY7", "expired keys are refused", "expiry", Always(False)),
    Mutant("KEY8", "the statement looks at what remains", "remaining", Remove()),
    Mutant("KEY8", "the statement looks at the rate limit", "rate-limit", Remove()),
    Mutant(
        "KEY9",
        "a refused verification uses nothing up",
        "checked-first",
        Replace("await _use(ctx, seen, permissions)\n..."),
    ).also("rolled-back", Unwrap("args[0]", "value")),
    Mutant(
        "KEY10",
        "a key is no verifier token",
        "compare",
        Replace("[name for name, expected in self.verifiers]", "value"),
    ),
    Mutant(
        "KEY24",
        "only the tokens of the settings verify keys",
        "compare",
        Replace("[name for name, expected in self.verifiers]", "value"),
    ),
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
    Mutant(
        "KEY15",
        "a refused key costs one read",
        "one-read",
        Before("await ctx.db.execute(FIND_KEY, key_id=seen.key.id)"),
    ),
    Mutant("KEY16", "prefixes of other credentials are refused", "reserved-prefix", Always(False)),
    Mutant("KEY17", "no more than the beginning of a key is kept", "start", Replace("text", "value")),
    Mutant("KEY17", "queries are masked in the log", "masked-query", Unwrap("args[0]", "value")),
    Mutant("KEY18", "metadata has a size", "size", Always(False)),
    Mutant("KEY18", "prototypes are refused", "prototype", Always(False)),
    Mutant("KEY19", "keys may have to expire", "never", Always(False)),
    Mutant("KEY19", "lifetimes have a minimum", "shortest", Always(False)),
    Mutant("KEY19", "lifetimes have a maximum", "longest", Always(False)),
    Mutant(
        "KEY19",
        "lifetimes are whole numbers",
        "whole-seconds",
        Replace("expiresIn: {type: number, nullable: true}"),
    ),
    Mutant("KEY20", "the keys of a user are counted", "limit", Always(False)),
    Mutant("KEY21", "the powers of the owner are compared", "rank", Always(False)),
    Mutant("KEY21", "lists leave such keys out", "listed-rank", Replace("True", "value")),
    Mutant("KEY25", "the list of all keys needs the permission", "list-keys", Remove()),
    Mutant("KEY22", "one key is sent", "one-key", Always(False)),
    Mutant("KEY23", "another case is another path", "exact-path", Replace("(...).lower()", "value.args[0]")),
    Mutant(
        "KEY23",
        "a doubled slash is another path",
        "exact-path",
        Replace("(...).replace('//', '/')", "value.args[0]"),
    ),
    Mutant("KEY23", "what is switched off does not exist", "disabled", Always(True)),
)
