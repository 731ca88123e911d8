"""Mutants of the token endpoint: codes, refresh tokens, scopes, ID tokens."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("O2", "a code is used up", "redeem", Remove()),
    Mutant("O2", "a code is used up by one of many", "unused", Remove()),
    Mutant("O2", "a code is for its client", "other-client", Remove("test.values[1]")),
    Mutant("O2", "a code has a minute", "expiry", Always(False)),
    Mutant("O2", "a replay ends the grant", "replay", Always(False)),
    Mutant("O3", "a verifier has a form", "verifier", Always(False)),
    Mutant("O3", "a verifier is the one of the challenge", "code-challenge", Remove("value.args[1].elts[0]")),
    Mutant("O9", "a refresh token is replaced", "rotate", Remove()),
    Mutant("O9", "a refresh token is replaced by one of many", "unrotated", Remove()),
    Mutant("O9", "a refresh token is for its client", "other-client", Remove("test.values[1]")),
    Mutant("O9", "a reuse ends the grant", "reuse", Always(False)),
    Mutant("O9", "the grace ends with the use of the successor", "successor", Always(False)),
    Mutant("O9", "the grace has an end", "grace", Always(False)),
    Mutant("O9", "the grace is for the same request", "same-request", Always(False)),
    Mutant("O10", "a resource is the client's and was granted", "resource", Replace("True", "value")),
    Mutant("O10", "a token has the scopes of its resource", "scopes", Replace("scopes", "value")),
    Mutant(
        "O10", "a client has scopes of its own for itself", "own-scopes", Replace("' '.join(asked)", "value")
    ),
    Mutant("O10", "a client loses scopes", "client-scopes", Replace("(scope or '').split()", "value")),
    Mutant("O14", "tokens are stored as digests", "token-digest", Replace("token.encode()", "value")),
    Mutant("O14", "kept responses are encrypted", "replay", Replace("kept", "value")),
    Mutant("O16", "a banned user redeems no code", "code-ban", Remove("value.values[1]")),
    Mutant("O16", "a banned user refreshes nothing", "other-client", Remove("test.values[2]")),
    Mutant("O24", "a nonce is returned", "nonce", Always(False)),
    Mutant("O24", "an ID token names its access token", "at-hash", Replace("bytes(32)", "value")),
)
