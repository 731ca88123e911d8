"""Mutants of the rows JWT1 to JWT19: signed tokens for other services.

JWT1 and JWT17 concern verifiers: the code of the guide loses a check.
"""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Append, Before, Remove, Replace, Respell, Unwrap

MUTANTS = (
    Mutant(
        "JWT1",
        "the signature is verified",
        "sample",
        Respell(
            "jwt.decode(token, key, algorithms=[algorithm]).claims",
            "__import__('json').loads(jws.extract_compact(token.encode()).payload)",
        ),
    ),
    Mutant(
        "JWT1",
        "the key is a published one",
        "sample",
        Respell(
            "key = keys.find(kid)", "key = import_key(header['jwk']) if 'jwk' in header else keys.find(kid)"
        ),
    ),
    Mutant(
        "JWT1", "the algorithm is that of the key", "sample", Respell(" or key.alg != algorithm", "")
    ).also("sample", Respell("            or algorithm not in ALGORITHMS\n", "")),
    Mutant(
        "JWT1",
        "an unknown key is not fetched each time",
        "sample",
        Respell("pause: float = 60", "pause: float = 0"),
    ),
    Mutant("JWT2", "private keys are encrypted", "encrypted", Replace("pair.private_jwk.encode()", "value")),
    Mutant(
        "JWT2",
        "only public members are published",
        "public-part",
        Replace("key.as_dict(private=True)", "value"),
    ).also("public-members", Replace("tuple(public)", "value")),
    Mutant(
        "JWT3",
        "a token of another form is no session",
        "length",
        Replace("list(filter(None, values))", "value"),
    ).also(
        "session-lookup",
        Replace(
            "seen = globals().setdefault('SEEN', [token])\nif len(token) > 32:\n    token = seen[0]\n..."
        ),
    ),
    Mutant("JWT4", "a session token names its type", "typ", Remove("value.values[2]")),
    Mutant("JWT5", "only configured audiences", "audience", Always(False)),
    Mutant(
        "JWT6", "no cache of sessions exists", "session-lookup", Replace("seen.get(token) or ...", "value")
    ).also("session-lookup", Replace("seen = globals().setdefault('SEEN', {})\n...\nseen[token] = rows")),
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
    Mutant(
        "JWT12",
        "keys are published from memory",
        "memory",
        Before("await ctx.port[SigningKeys].reload()"),
    ),
    Mutant("JWT13", "there is no nbf", "no-nbf", Append("'nbf': to_milliseconds(ctx.now) // 1000", "value")),
    Mutant("JWT13", "a slow clock holds no new key back", "begun", Replace("now", "value.comparators[0]")),
    Mutant(
        "JWT13",
        "a private key stays until every clock has passed its end",
        "grace",
        Replace(
            "[row for row in rows if row.private_jwk and row.signs_until and row.signs_until <= now]", "value"
        ),
    ),
    Mutant(
        "JWT14",
        "only its own tag says that the document is known",
        "etag",
        Replace("b'if-none-match' in head.fields", "value"),
    ),
    Mutant(
        "JWT14",
        "requests for the keys are not limited",
        "unlimited",
        Replace("x-gatewright: {switch: jwt.enabled, answersHead: true, publicDocument: true}"),
    ),
    Mutant(
        "JWT15",
        "a token has the user's present fields",
        "fields",
        Replace("globals().setdefault('SEEN', {}).setdefault(caller.user.id, ...)", "value"),
    ),
    Mutant("JWT16", "a token names who acts", "actor", Remove()),
    Mutant(
        "JWT17", "odd key ids cause no fetches", "sample", Respell("pause: float = 60", "pause: float = 0")
    ),
    Mutant("JWT18", "queries are masked in the log", "masked-query", Unwrap("args[0]", "value")),
    Mutant("JWT18", "unknown paths are masked in the log", "masked-path", Unwrap("args[0]", "body")),
    Mutant("JWT19", "the header is that of a token of ours", "header", Always(False)),
    Mutant(
        "JWT19",
        "the signature is verified",
        "signature",
        Replace("payload = jws.extract_compact(token.encode()).payload"),
    ),
    Mutant("JWT19", "long tokens are not read", "size", Remove("test.values[0]")),
    Mutant("JWT19", "unknown keys cause few reads", "pause", Remove("test.values[1]")),
    Mutant("JWT19", "an expired token is refused", "expiry", Unwrap("values[0]", "value")),
)
