"""Mutants of sign-in by links."""

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
    Mutant(
        "M6",
        "a mailbox is one factor",
        "second-factor",
        Replace("... and not options.proves_mailbox", "test"),
    ),
    Mutant("M7", "a link or code creates no user while sign-up is off", "sign-up", Replace("True", "value")),
    Mutant(
        "M8", "an image of another site uses no link up", "embedded", Replace("mode != b'navigate'", "value")
    ),
    Mutant("M8", "a link replaces no other account unasked", "asks-first", Always(False)),
    Mutant("M8", "a script of another site uses no link up", "script-origin", Always(False)),
    Mutant("M9", "queries are masked in the log", "masked-query", Unwrap("args[0]", "value")),
    Mutant("M9", "the URL of a link goes to no other site", "referrer", Remove()),
    Mutant(
        "M13",
        "a link that is not sent costs the same",
        "link-decoy",
        Before("if reason is not None:\n    return"),
    ),
    Mutant("M14", "links have limits", "links", Always(False)),
    Mutant("M17", "links die with the address", "old-links", Remove()),
    Mutant("M17", "a ban refuses at the press", "sign-in-ban", Always(False)),
    Mutant("M20", "a link that has expired is not mailed", "expired", Always(False)),
    Mutant("M22", "names have no control characters", "name-pattern", Remove()),
)
