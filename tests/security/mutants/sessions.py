"""Mutants of the rows V35 to V38 and V40 to V42: sessions."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace, Unwrap

RENAME_USER = (
    "await ctx.db.execute(__import__('sqlalchemy').update(User).where(col(User.id) == user.id)"
    ".values(email=f'{user.id}@deleted.example.com'))"
)
"""Leaves the user there, under another address."""

MUTANTS = (
    Mutant("V35", "sign-out deletes the session", "sign-out", Remove()),
    Mutant("V35", "revoking a session deletes it", "end-session", Always(True)),
    Mutant("V35", "revoking all deletes all", "end-all", Replace("['']", "value")),
    Mutant("V35", "revoking the others deletes them", "others-of-caller", Replace("['']", "value")),
    Mutant(
        "V35", "revoking the others leaves the current one", "others-of-caller", Remove("value.value.args[2]")
    ),
    Mutant("V35", "a reset ends every session", "reset-sessions", Unwrap("orelse", "value")),
    Mutant(
        "V35",
        "a changed password ends every session when asked to",
        "change-sessions",
        Replace("['x']", "value"),
    ),
    Mutant(
        "V35",
        "sessions go with their user",
        "delete-user",
        Replace(RENAME_USER),
    ),
    Mutant(
        "V35", "no cache of sessions exists", "session-lookup", Replace("seen.get(token) or ...", "value")
    ).also("session-lookup", Replace("seen = globals().setdefault('SEEN', {})\n...\nseen[token] = rows")),
    Mutant(
        "V35",
        "an ended session is not brought back by its extension",
        "delete-statement",
        Replace(
            "__import__('sqlalchemy').update(Session)"
            ".values(expires_at=ctx.now + __import__('datetime').timedelta(days=1))",
            "value.func.value.func.value",
        ),
    ),
    Mutant(
        "V36", "no cache of sessions exists", "session-lookup", Replace("seen.get(token) or ...", "value")
    ).also("session-lookup", Replace("seen = globals().setdefault('SEEN', {})\n...\nseen[token] = rows")),
    Mutant(
        "V36",
        "what belongs to a user goes with them",
        "delete-user",
        Replace(f"{RENAME_USER}\nfrom domain.sessions import sessions\nawait sessions.end_all(ctx, user)"),
    ),
    Mutant(
        "V36",
        "a session without its user is none",
        "delete-user",
        Replace(RENAME_USER.replace("values(", "values(username=None, ")),
    ),
    Mutant(
        "V37",
        "every session is listed",
        "active-only",
        Replace("... and row.remembered", "value.generators[0].ifs[0]"),
    ),
    Mutant("V37", "a revoked session is gone, and counted", "end-all", Replace("(...)[1:]", "value")),
    Mutant("V37", "a sign-in looks again at the password", "seen-password", Remove()),
    Mutant("V37", "a sign-in looks again at the proof of the address", "seen-verified", Remove()),
    Mutant("V37", "a sign-in looks again at the second factor", "seen-second-factor", Remove()),
    Mutant("V37", "a sign-in looks again at a ban", "seen-ban", Remove()),
    Mutant("V37", "a sign-in looks again at the end of a ban", "seen-ban-end", Remove()),
    Mutant("V37", "a sign-in looks again at all", "as-seen", Remove()),
    Mutant(
        "V38",
        "a session is found by its whole token",
        "session-lookup",
        Replace("seen.setdefault(token[0], ...)", "value"),
    ).also("session-lookup", Before("seen = globals().setdefault('SEEN', {})")),
    Mutant("V38", "a sign-in replaces the cookie", "session-cookie", Remove("value.args[1].elts[0]")),
    Mutant(
        "V38",
        "a sign-out ends the session of the browser",
        "sign-out",
        Replace("ctx.caller.user", "value.keywords[0].value.value"),
    ),
    Mutant("V40", "tokens are not listed", "list-tokens", Unwrap("body", "value")),
    Mutant("V40", "no copy is kept", "token-copy", Unwrap("body", "value")),
    Mutant("V40", "a handle works for its owner alone", "session-owner", Remove()),
    Mutant(
        "V41",
        "a cookie is found by its whole name",
        "cookie-name",
        Replace(r"name.endswith(key.strip(b' \t'))", "test"),
    ),
    Mutant("V41", "the case of a cookie's name counts", "cookie-name-shortcut", Remove())
    .also("cookie-name", Replace("(...).lower()", "test.left"))
    .also("cookie-name", Replace("(...).lower()", "test.comparators[0]")),
    Mutant(
        "V41",
        "of several live sessions none is picked",
        "one-session",
        Replace("live[-1] if live else None", "value"),
    ),
    Mutant(
        "V41", "of several trusted devices none is picked", "one-device", Replace("not presented", "test")
    ),
    Mutant(
        "V41",
        "the configured name is the one that is read",
        "cookie-setting",
        Replace("b'service.session-token'", "value.args[1]"),
    ),
    Mutant("V42", "the host-only twin goes", "twin", Remove()),
    Mutant("V42", "no answer is stored", "no-store", Replace("b'private'", "elts[1]")),
    Mutant(
        "V42",
        "an answer sets a cookie once",
        "one-cookie",
        Remove("value.elts[1].elts[1].value.generators[0].ifs[0]"),
    ),
)
