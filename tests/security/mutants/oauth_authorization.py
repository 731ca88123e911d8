"""Mutants of the authorization endpoint: its rows O1, O3, O4, O5, O7, O8, O17, O21, O22 and O26."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Replace

MUTANTS = (
    Mutant("O1", "only a registered URI is redirected to", "registered", Always(False)),
    Mutant("O3", "a challenge has its form", "challenge", Always(False)),
    Mutant("O3", "its method is S256", "method", Always(False)),
    Mutant("O4", "a response says who responds", "issuer", Replace("issuer = None")),
    Mutant(
        "O5",
        "a consent is its session's",
        "session-of-consent",
        Replace("has_consented = stored is not None and stored.row.consent_by is not None"),
    ),
    Mutant("O5", "some are asked each time", "each-time", Always(False)),
    Mutant("O5", "a consent covers the scopes", "stored-consent", Replace("return consent is not None")),
    Mutant("O5", "a user allows what is asked for", "subset", Always(False)),
    Mutant("O5", "a consent is of a session that may give it", "fresh-consent", Always(False)),
    Mutant("O7", "nobody gives away another's data", "impersonated", Always(False)),
    Mutant("O7", "a code is of a live session", "live-session", Always(False)),
    Mutant("O8", "an old session is no new sign-in", "prompt-login", Always(False)),
    Mutant("O8", "a session has an age", "max-age", Always(False)),
    Mutant("O8", "its age is that at the identity provider", "provider-time", Always(True)),
    Mutant("O17", "a state has an end", "state", Always(False)),
    Mutant("O17", "a field shows only hints of one line", "login-hint", Replace("return hint")),
    Mutant("O21", "a request has an end", "live-request", Always(False, "test.values[2]")),
    Mutant("O21", "a request for a logout is none", "live-request", Always(False, "test.values[1]")),
    Mutant("O21", "a request is its client's", "client-of-request", Always(False, "test.values[1]")),
    Mutant("O21", "a request gives one code", "taken-once", Always(False)),
    Mutant("O26", "a client learns of an outage", "error-redirect", Always(False)),
    Mutant("O22", "a form is continued by GET", "by-get", Before("return await authorize(ctx, sent)")),
)
