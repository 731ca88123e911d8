"""Mutants of the rows JWT2 to JWT16: signed tokens for other services.

JWT1 and JWT17 concern verifiers; the one of the guide is no part of the service.
"""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Append, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("JWT2", "private keys are encrypted", "encrypted", Replace("pair.private_jwk.encode()", "value")),
    Mutant(
        "JWT2",
        "only public members are published",
        "public-part",
        Replace("key.as_dict(private=True)", "value"),
    ).also("public-members", Replace("tuple(public)", "value")),
    Mutant("JWT4", "a session token names its type", "typ", Remove("value.values[2]")),
    Mutant("JWT5", "only configured audiences", "audience", Always(False)),
    Mutant(
        "JWT6", "no cache of sessions exists", "session-lookup", Replace("seen.get(token) or ...", "value")
    ).also("session-lookup", Replace("seen = globals().setdefault('SEEN', {})\n...\nseen[token] = found")),
    Mutant("JWT7", "a token ends with its session", "session-end", Unwrap("args[0]", "value")),
    Mutant("JWT8", "a late key is announced too", "announced", Unwrap("args[0]", "value")),
    Mutant("JWT8", "keys are announced for longer than caches keep them", "publish-ahead", Always(False)),
    Mutant("JWT9", "a revoked key is gone", "revoked", Remove()),
    Mutant("JWT10", "keys that cannot be decrypted are replaced", "usable", Replace("list(rows)", "value")),
    Mutant("JWT11", "one instance changes keys at a time", "lock", Always(False)),
    Mutant("JWT11", "the lease decides which", "lease", Always(False)),
    Mutant(
        "JWT11",
        "what is there is not made again",
        "still-due",
        Replace("{name: ctx.now for name in pairs}.items()", "iter"),
    ),
    Mutant("JWT13", "there is no nbf", "no-nbf", Append("'nbf': to_milliseconds(ctx.now) // 1000", "value")),
    Mutant(
        "JWT13",
        "a private key stays until every clock has passed its end",
        "grace",
        Replace(
            "[row for row in rows if row.private_jwk and row.signs_until and row.signs_until <= now]", "value"
        ),
    ),
    Mutant(
        "JWT15",
        "a token has the user's present fields",
        "fields",
        Replace("globals().setdefault('SEEN', {}).setdefault(caller.user.id, ...)", "value"),
    ),
    Mutant("JWT16", "a token names who acts", "actor", Remove()),
)
