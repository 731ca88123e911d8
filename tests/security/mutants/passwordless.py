"""Mutants of the rows M1 to M19: sign-in by mail."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("M1", "a browser that opens a link is asked to confirm", "confirmed", Always(False)),
    Mutant("M1", "navigation is recognized", "navigation", Replace("False", "value")),
    Mutant("M2", "a link works once", "used-once", Always(False)),
    Mutant("M2", "a link expires", "expiry", Replace("True", "")),
    Mutant("M5", "what a stranger prepared is removed", "secured", Replace("user", "value")),
    Mutant("M7", "a link or code creates no user while sign-up is off", "sign-up", Replace("True", "value")),
    Mutant("M10", "attempts are counted", "attempts", Replace("col(OneTimeToken.attempts) >= 0", "value")),
    Mutant("M10", "a wrong code is a failure", "failure", Remove()),
    Mutant("M10", "codes are compared", "compared", Always(False)),
    Mutant("M14", "the day has a number for links and codes", "daily-mails", Remove("value.elts[1]")),
    Mutant("M14", "links and codes have limits", "daily-mails", Remove("value.elts[0]")),
    Mutant(
        "M16", "a mail code is not offered after a mail", "methods", Replace("[*methods, 'otp']", "value")
    ),
    Mutant("M17", "links die with the address", "old-links", Remove()),
    Mutant("M18", "a code works once", "used-once", Always(False)),
)
