"""Mutants of the rows M1 to M22: sign-in by mail."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("M1", "a browser that opens a link is asked to confirm", "confirmed", Always(False)),
    Mutant("M1", "navigation is recognized", "navigation", Replace("False", "value")),
    Mutant("M2", "a link works once", "used-once", Always(False)),
    Mutant("M2", "a link expires", "expiry", Replace("True", "")),
    Mutant(
        "M2", "a token has one purpose", "purpose", Replace("(...) | col(OneTimeToken.email).is_not(None)")
    ),
    Mutant("M3", "the targets in a link are checked", "query-targets", Remove()),
    Mutant("M3", "the targets of a request are checked", "body-targets", Remove()),
    Mutant(
        "M4",
        "Host does not name the service",
        "host",
        Before(
            "object.__setattr__(self._policy, 'base_url', 'http://' + "
            "head.fields.get(b'host', b'127.0.0.1:8000').decode('latin-1'))"
        ),
    ),
    Mutant("M5", "what a stranger prepared is removed", "secured", Replace("{}", "value")),
    Mutant("M5", "a reset removes it too", "reset-secured", Replace("{}", "value")),
    Mutant("M5", "passwords are removed", "accounts", Remove("value.elts[0]")),
    Mutant("M5", "linked accounts are removed", "accounts", Remove("value.elts[1]")),
    Mutant("M5", "sessions are removed", "sessions", Replace("()", "value")),
    Mutant("M5", "trusted devices are removed", "devices", Replace("()", "value")),
    Mutant("M5", "passkeys are removed", "passkeys", Replace("()", "value")),
    Mutant("M5", "API keys are removed", "keys", Replace("()", "value")),
    Mutant("M5", "tokens on their way are removed", "tokens", Replace("()", "value")),
    Mutant("M5", "a pending second factor is removed", "second-factors", Replace("()", "value")),
    Mutant("M5", "its backup codes are removed", "backup-codes", Replace("()", "value")),
    Mutant("M5", "administrators confirm nothing", "own-session", Remove("test.values[1]")),
    Mutant("M5", "ended sessions confirm nothing", "live-session", Replace("True", "value")),
    Mutant("M6", "an account with two factors keeps everything", "kept", Remove("value.values[1]")),
    Mutant(
        "M6", "a mailbox is one factor", "second-factor", Replace("... and not wanted.proves_mailbox", "test")
    ),
    Mutant("M7", "a link or code creates no user while sign-up is off", "sign-up", Replace("True", "value")),
    Mutant(
        "M8", "an image of another site uses no link up", "embedded", Replace("mode != b'navigate'", "value")
    ),
    Mutant("M8", "a link replaces no other account unasked", "asks-first", Always(False)),
    Mutant("M8", "a script of another site uses no link up", "script-origin", Always(False)),
    Mutant("M9", "queries are masked in the log", "masked-query", Unwrap("args[0]", "value")),
    Mutant("M9", "the URL of a link goes to no other site", "referrer", Remove()),
    Mutant("M9", "codes are kept as keyed digests", "code-digest", Replace("code.encode()")),
    Mutant("M10", "attempts are counted", "attempts", Replace("col(OneTimeToken.attempts) >= 0", "value")),
    Mutant("M10", "a wrong code is a failure", "failure", Remove()),
    Mutant("M10", "codes are compared", "compared", Always(False)),
    Mutant("M10", "of many at once one is told that the attempts are used up", "exhausted", Always(False)),
    Mutant(
        "M11",
        "a code has a purpose",
        "key",
        Replace("tokens.digest(f'{self.email} {self.user_id or \"\"}')", "value"),
    )
    .also("rows", Remove("value.elts[1]"))
    .also("digest", Replace("'grant.code'", "value.args[0]")),
    Mutant(
        "M11", "a change of address is for one user", "key", Replace("tokens.digest(self.email)", "value")
    ),
    Mutant(
        "M11",
        "a code is for one address",
        "key",
        Replace("tokens.digest(self.kind.purpose)", "value"),
    ).also("digest", Replace("f'{user_id} {code}'", "value.args[1]")),
    Mutant("M11", "capitals are the same address", "capitals", Remove()),
    Mutant("M12", "a code is a text", "otp", Replace("otp: &otp {pattern: '^[^\\x00]*$'}")),
    Mutant(
        "M13", "a code that is not sent is stored too", "decoy", Before("if reason is not None:\n    return")
    ),
    Mutant(
        "M13",
        "a link that is not sent costs the same",
        "link-decoy",
        Before("if reason is not None:\n    return"),
    ),
    Mutant("M14", "links have limits", "links", Always(False)),
    Mutant("M14", "the day has a number for links and codes", "daily-mails", Remove("value.elts[1]")),
    Mutant("M14", "links and codes have limits", "daily-mails", Remove("value.elts[0]")),
    Mutant("M15", "sign-in mails have limits of their own", "own-limit", Replace("'links'", "value.args[3]")),
    Mutant(
        "M16", "a mail code is not offered after a mail", "methods", Replace("[*methods, 'otp']", "value")
    ),
    Mutant("M17", "links die with the address", "old-links", Remove()),
    Mutant("M17", "a ban refuses at the press", "sign-in-ban", Always(False)),
    Mutant("M18", "a code works once", "used-once", Always(False)),
    Mutant("M18", "a refused password costs no attempt", "given-back", Remove()),
    Mutant("M19", "a taken address gets no mail", "taken", Replace("False", "value")),
    Mutant("M19", "an address that is taken meanwhile is not changed to", "taken-meanwhile", Always(False)),
    Mutant("M20", "a link that has expired is not mailed", "expired", Always(False)),
    Mutant("M21", "what a stranger prepared at the same time is removed", "secured", Replace("{}", "value")),
    Mutant("M22", "names have no control characters", "name-pattern", Remove()),
)
