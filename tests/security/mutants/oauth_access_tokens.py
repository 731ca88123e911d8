"""Mutants of the verification of access tokens by an API, in the Python kit."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove

MUTANTS = (
    Mutant("O28", "a token is for this API", "audience", Remove()),
    Mutant("O29", "a token is an access token", "typ", Always(False)),
    Mutant("O30", "the algorithm is that of the key", "algorithms", Always(False)).also(
        "key-algorithm", Always(False, "test.values[1]")
    ),
    Mutant(
        "O31", "unknown keys are searched for once a minute", "search-interval", Remove("value.values[1]")
    ),
    Mutant("O32", "a token names this issuer", "issuer", Remove()),
    Mutant("O33", "a token has an end", "end", Remove()),
    Mutant("O33", "clocks may differ", "leeway", Remove()),
    Mutant("O34", "a scope is needed", "scope", Always(True)),
)
