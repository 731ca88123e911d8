"""Mutants of the rows C1 to C13: the console."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("C1", "only administrators see the console", "administrators-only", Always(False)),
    Mutant("C1", "for others a page does not exist", "hidden", Always(False)),
    Mutant("C1", "errors have the frame for administrators only", "error-frame", Remove()),
    Mutant("C1", "a form is shown again to administrators only", "shown-again", Remove()),
    Mutant("C3", "results are for the administrator who acted", "own-results", Always(False)),
    Mutant("C7", "searches are recorded", "recorded", Remove()),
    Mutant("C7", "but once a minute", "once-a-minute", Always(True)),
    Mutant("C8", "a form is for the user as it was shown", "seen-version", Always(False)),
    Mutant("C8", "a key is changed as it was shown", "seen-key", Always(False)),
    Mutant("C8", "a key is created for the keys that were shown", "seen-keys", Always(False)),
    Mutant("C8", "an endpoint is created for the endpoints that were shown", "seen-endpoints", Always(False)),
    Mutant("C8", "an endpoint is changed as it was shown", "seen-endpoint", Always(False)),
    Mutant("C8", "a form creates one application", "client-once", Replace("client_id = None")),
    Mutant("C8", "an application is changed as it was shown", "seen-client", Always(False)),
    Mutant("C8", "a form sends one test event", "test-once", Always(False)),
    Mutant("C8", "a form sends an event again once", "redelivered-once", Always(False)),
    Mutant("C8", "a failed email is sent again once", "failed-only", Always(False)),
    Mutant("C8", "an email that is being sent is not given up", "no-lease", Always(False)),
    Mutant("C9", "secrets of instances are compared by digests", "digests", Replace("[text]", "value")),
    Mutant("C10", "nobody opens the console in the name of a user", "impersonated", Always(False)),
    Mutant("ADM22", "the console requires the second factor", "console", Always(False)),
)
