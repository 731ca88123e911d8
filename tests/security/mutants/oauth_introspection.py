"""Mutants of introspection, UserInfo and revocation, and of the end of grants."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("O10", "a token for a resource opens no claims", "user-info", Always(False)),
    Mutant("O15", "public clients see nothing", "confidential", Remove("value.value.keywords[0]")),
    Mutant("O15", "a client sees its own tokens", "own", Always(True, "value")),
    Mutant("O15", "a resource has one server", "own", Always(True, "value.values[1]")),
    Mutant("O15", "the server of a resource sees no refresh tokens", "access-only", Always(True, "value")),
    Mutant(
        "O15",
        "a signed token is an access token",
        "typ",
        Replace(
            "(found := await ctx.port[SigningKeys].verify(text, ctx.now)) and"
            " {'client_id': found.get('aud'), 'jti': 'none', **found} or ...",
            "value",
        ),
    ),
    Mutant("O15", "a client ends its own tokens", "revoke-own", Always(False, "test.values[1]")),
    Mutant("O15", "a client ends its own signed tokens", "revoke-own-jwt", Always(False, "test.values[1]")),
    Mutant("O16", "a dead token is not active", "live", Always(False, "test.values[1]")),
    Mutant("O16", "a dead token opens no claims", "user-info", Always(False, "test.values[1]")),
    Mutant("O16", "a revoked signed token is not active", "revoked-jwt", Always(False, "test.values[1]")),
    Mutant(
        "O16",
        "a signed token ends with its grant",
        "grant-of-jwt",
        Replace("granted is not None", "value"),
    ),
    Mutant("O16", "grants end with the password", "password", Remove()),
)
