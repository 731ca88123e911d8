"""Mutants of the rows R17 to R25, R41 and R43 to R45: many instances, releases, signals, settings, keys, backups."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Before, Compare, Remove, Replace, Unwrap

MUTANTS = (
    Mutant(
        "R17",
        "a user is kept together with what is made for them",
        "one-transaction",
        Before("await ctx.db.commit()"),
    ),
    Mutant(
        "R18",
        "a new password is kept together with the end of the sessions",
        "set-password",
        After("await ctx.db.commit()"),
    ),
    Mutant(
        "R18",
        "a second factor is kept together with its backup codes",
        "one-transaction",
        Before("await ctx.db.commit()"),
    ),
    Mutant("R19", "a mailed token is used up by one", "consume-once", Always(True, "value")),
    Mutant(
        "R19",
        "a mailed code is used up",
        "use-code",
        Replace("select(col(OneTimeToken.digest))", "value.func.value"),
    ).also("used-code", Unwrap("func.value", "value.left.func.value.value.args[0]")),
    Mutant(
        "R19", "a backup code is used up by one", "delete-backup-code", Replace("await ctx.db.execute(used)")
    ),
    Mutant(
        "R19",
        "a sign-in that waits is ended by its code",
        "use-challenge",
        Replace("select(*columns).where(*_live(ctx, challenge))", "value.func.value.value.args[0]"),
    ),
    Mutant(
        "R19",
        "a state is used up",
        "use-state",
        Replace(
            "__import__('sqlalchemy').select(col(OneTimeToken.payload)).where(used.whereclause)", "value"
        ),
    ),
    Mutant("R19", "a trusted device's token is replaced at each use", "device-digest", Remove()),
    Mutant(
        "R20", "a window of a clock that is a little ahead counts", "skew", Replace("timedelta(0)", "value")
    ),
    Mutant(
        "R20",
        "a window from before the clock was set back is over",
        "window-begin",
        Replace("now < self.end", "value"),
    ),
    Mutant(
        "R20",
        "a code of the authenticator is of now",
        "time-steps",
        Replace("12 * ...", "value.args[0].right"),
    ).also("time-steps", Replace("12 * ...", "value.args[1].left.right")),
    Mutant("R21", "a mail is claimed by one instance", "claim", Remove("func.value.keywords[1]")),
    Mutant(
        "R21",
        "one instance cleans up",
        "lease",
        Replace("col(Lease.until) > now - (until - now)", "value"),
    ),
    Mutant(
        "R21",
        "what the client writes into the forwarding header is not believed",
        "hop-order",
        Unwrap("args[0]", "iter"),
    ),
    Mutant(
        "R21",
        "guesses are counted where every instance sees them",
        "shared-count",
        Replace(
            "Limit((...).key + b'%d' % id(self), *tuple(...)[1:])",
            "value.value.args[1]",
        ),
    ),
    Mutant(
        "R22",
        "a migration lets requests pass while it waits for a table",
        "lock-timeout",
        Replace("0", "value.value.args[0].args[0].values[1].value"),
    ),
    Mutant("R22", "a table that is in use is tried again", "lock-timeout-retry", Unwrap("body")),
    Mutant(
        "R22",
        "no read deadlocks with a migration, which locks users first",
        "users-first",
        Replace(
            "select(*SESSION_COLUMNS, *USER_COLUMNS).select_from(Session)"
            ".join(User, col(Session.user_id) == col(User.id))",
            "value.args[0].func.value",
        ),
    ),
    Mutant("R23", "a schema that is not known is refused", "known-schema", Always(False)),
    Mutant(
        "R23",
        "who serves already goes on with a newer schema",
        "at-least",
        Compare("==", "value.args[0]"),
    ),
    Mutant("R23", "an older schema is not enough", "at-least", Remove("value.args[0]")),
    Mutant("R24", "it is not ready from the signal on", "not-ready", Remove()),
    Mutant("R24", "what is in flight is given time", "grace", Replace("0", "value")),
    Mutant("R24", "what does not end is cut off", "grace", Replace("3000", "value")),
    Mutant("R24", "what watches over the processes holds no socket", "close-listener", Remove()),
    Mutant("R25", "a lost terminal is a wish to stop", "hang-up", Remove()),
    Mutant("R25", "who cannot wait is not waited for", "cancel", Remove()),
    Mutant("R25", "nor is it for several processes a wish to start anew", "workers-hang-up", Remove()),
    Mutant("R25", "a stop that was asked for is no fault", "asked-to-stop", Remove()),
    Mutant("R25", "who cannot wait tells every process", "second-interrupt", Remove()),
    Mutant("R41", "a transaction removes few rows", "batch", Replace("100000", "value")),
    Mutant(
        "R41", "what is alive stays", "expired-sessions", Replace("'created_at'", "value.elts[0].args[0]")
    ),
    Mutant("R43", "a short secret is refused", "short-secret", Always(False)),
    Mutant("R43", "the sample is no secret", "sample-secret", Always(False)),
    Mutant("R43", "production sends no links to the log", "production-checks", Always(False)),
    Mutant("R43", "production shows no mails to everybody", "mailbox", Always(False)),
    Mutant("R43", "nor does a service that others can reach", "private-mailbox", Replace("True", "value")),
    Mutant("R43", "all that is wrong is told at once", "all-problems", Replace("...[:1]", "value")),
    Mutant(
        "R43", "an unknown key is refused", "unknown-keys", Replace("'ignore'", "value.keywords[2].value")
    ),
    Mutant(
        "R44",
        "what an older secret has encrypted is read",
        "cipher-keys",
        Replace("...[:1]", "value.elts[1].args[0]"),
    ),
    Mutant(
        "R44",
        "what an older secret has digested is known again",
        "digest-keys",
        Replace("...[:1]", "value.args[0].generators[0].iter"),
    ),
    Mutant(
        "R44", "what an older secret has encrypted is encrypted anew", "columns", Remove("value.keywords[1]")
    ),
    Mutant(
        "R44",
        "a secret that cannot be read is no wrong code",
        "decryption",
        Replace("__import__('domain.errors').errors.Unauthenticated", "exc"),
    ),
    Mutant("R44", "a request that cannot be read waits", "no-key", Replace("FinalError", "exc.func")),
    Mutant("R45", "devices are trusted by nobody afterwards", "trusted-devices", Remove()),
    Mutant("R45", "tokens on their way are worth nothing afterwards", "mailed-tokens", Remove()),
    Mutant("R45", "it is put on record", "audit", Remove()),
)
