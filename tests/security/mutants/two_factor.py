"""The defences of the second factor, each taken out once (rows V43 to V53)."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Append, Before, Compare, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("V43", "a two-factor user passes no gate without a code", "second-factor", Always(False)),
    Mutant(
        "V43",
        "a pending sign-in opens no session",
        "pending-sign-in",
        Before("await sessions.create(ctx, user, remembered=True, method='password')"),
    ),
    Mutant("V43", "the pending answer clears the session cookie", "clear-session", Remove()),
    Mutant(
        "V43",
        "the pending token is no header of a session",
        "pending-headers",
        Before("headers = (*headers, (b'set-auth-token', pending.token.encode()))"),
    ),
    Mutant("V43", "the pending token is stored by digest", "pending-token", Append("code=token.encode()")),
    Mutant("V44", "a challenge has five attempts", "attempts", Replace("1000000", "value.comparators[0]")),
    Mutant("V44", "a spent challenge is deleted", "spent-challenge", Remove()),
    Mutant("V44", "ten wrong codes lock the second factor", "lock-after", Unwrap("left", "test")),
    Mutant("V44", "nobody gets past a lock", "lock", Remove()),
    Mutant(
        "V44",
        "wrong backup codes count for the lock like the others",
        "wrong-backup-code",
        Replace("await limits.count_failure(ctx, limits.FailureSubject(user.id))\nraise InvalidBackupCode"),
    ),
    Mutant(
        "V44",
        "wrong mail codes count for the lock like the others",
        "wrong-mail-code",
        Replace("await limits.count_failure(ctx, limits.FailureSubject(user.id))\nraise InvalidCode"),
    ),
    Mutant(
        "V44",
        "the right password does not reset the count",
        "pending-sign-in",
        Before("await lockout.reset_failures(ctx, user.id)"),
    ),
    Mutant("V44", "a right code resets the count", "reset-count", Remove()),
    Mutant(
        "V44",
        "a mail brings no new attempts",
        "otp-mail",
        Before(
            "from models import OneTimeToken\nawait ctx.db.execute(update(OneTimeToken).values(attempts=0))"
        ),
    ),
    Mutant(
        "V45",
        "an attempt is taken by one conditional statement",
        "attempts",
        Replace("col(OneTimeToken.attempts) >= (0 if challenge.attempts < 5 else 1000000)", "value"),
    ),
    Mutant(
        "V46",
        "a backup code is deleted when it is used",
        "delete-code",
        Replace("update(BackupCode).values(updated_at=ctx.now)", "value.func.value"),
    ),
    Mutant(
        "V46",
        "a mail code is deleted when it is used",
        "use-code",
        Replace("update(OneTimeToken).values(updated_at=ctx.now)", "value.func.value"),
    ),
    Mutant("V46", "a challenge is used up by its session", "use-challenge", Remove()),
    Mutant("V47", "an accepted step is accepted once", "step-guard", Remove("value.func.value.args[1]")),
    Mutant("V47", "only later steps are accepted next", "later-step", Compare("!=", "value.args[1]")),
    Mutant("V47", "one step either side, no more", "time-steps", Replace("... - 1", "value.args[0]")).also(
        "time-steps", Replace("... + 1", "value.args[1]")
    ),
    Mutant(
        "V48",
        "an enrolment counts once it is confirmed",
        "confirmation",
        Before("enrolment.switch_on(ctx, user, 'totp')"),
    ),
    Mutant("V48", "a wrong code confirms nothing", "confirm-code", Replace("not code", "test")),
    Mutant(
        "V48",
        "backup codes wait for the confirmation",
        "waiting-codes",
        Always(True, "value.keywords[0].value"),
    ),
    Mutant("V48", "a second enrolment leaves the live secret alone", "live-secret", Always(False)),
    Mutant("V48", "wrong codes with a session do not lock", "lock-challenge-only", Always(True)),
    Mutant("V49", "enrolling asks for the password", "totp-password", Remove()).also(
        "totp-caller", Replace("None", "value.value.args[1]")
    ),
    Mutant("V49", "switching off asks for the password", "disable-password", Remove()).also(
        "disable-caller", Replace("None", "value.value.args[1]")
    ),
    Mutant("V49", "showing the secret asks for the password", "uri-password", Remove()).also(
        "uri-caller", Replace("None", "value.value.args[1]")
    ),
    Mutant("V49", "new backup codes ask for the password", "codes-password", Remove())
    .also("codes-caller", Replace("None", "value.value.args[1]"))
    .also("codes-enabled", Remove()),
    Mutant(
        "V50",
        "a reset leaves the second factor on",
        "reset-end",
        Before(
            "from sqlalchemy import update\nfrom models import User\n"
            "await ctx.db.execute(update(User).where(User.id == user.id).values(two_factor_enabled=False))"
        ),
    ),
    Mutant("V50", "a reset ends the sign-ins that wait for a code", "challenge-token", Remove()),
    Mutant(
        "V50",
        "a reset opens no session",
        "reset-end",
        Before("await sessions.create(ctx, user, remembered=True, method='reset')"),
    ),
    Mutant(
        "V51",
        "the password is asked for, however fresh the session",
        "verify-password",
        Replace("ctx.signed_in.session.created_at == ctx.now or ...", "test.values[0].operand"),
    ),
    Mutant(
        "V51",
        "a session is fresh for a day",
        "fresh-age",
        Replace("session.updated_at", "value.values[1].left.right"),
    ),
    Mutant("V52", "trust ends in the database", "device-expiry", Remove()),
    Mutant("V52", "a used trust token is dead", "device-digest", Remove()),
    Mutant("V52", "switching off forgets the devices", "disable-devices", Remove()),
    Mutant("V52", "a new authenticator forgets the devices", "authenticator-devices", Remove()),
    Mutant("V52", "a changed or reset password forgets the devices", "password-devices", Remove()),
    Mutant("V53", "new codes replace the old", "discard-codes", Remove()),
    Mutant("V53", "a confirmed enrolment ends the old codes", "replace-codes", Remove()),
    Mutant("V53", "switching off deletes the codes", "delete-codes", Remove()),
    Mutant("V53", "codes are stored hashed", "code-hash", Replace("code.encode()", "value")),
)
