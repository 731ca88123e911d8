"""Mutants of sign-in by codes."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace

MUTANTS = (
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
    Mutant("M14", "the day has a number for links and codes", "daily-mails", Remove("value.elts[1]")),
    Mutant("M14", "links and codes have limits", "daily-mails", Remove("value.elts[0]")),
    Mutant(
        "M15", "sign-in mails have limits of their own", "own-limit", Replace("limits.LINKS", "value.args[3]")
    ),
    Mutant(
        "M16", "a mail code is not offered after a mail", "methods", Replace("[*methods, 'otp']", "value")
    ),
    Mutant("M18", "a code works once", "used-once", Always(False)),
    Mutant("M18", "a refused password costs no attempt", "given-back", Remove()),
    Mutant("M19", "a taken address gets no mail", "taken", Replace("False", "value")),
    Mutant("M19", "an address that is taken meanwhile is not changed to", "taken-meanwhile", Always(False)),
)
