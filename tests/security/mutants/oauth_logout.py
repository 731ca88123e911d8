"""Mutants of logout, back-channel logout and consents: parts of the rows O5, O16, O18, O23 and O24."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("O5", "a consent does not grow", "narrow", Always(False)),
    Mutant("O5", "a consent is its user's", "consent-owner", Remove()),
    Mutant("O16", "a code ends with the consent", "codes-of-consent", Remove()),
    Mutant("O16", "a grant ends with the consent", "consent", Replace("return 0")),
    Mutant("O18", "nothing ends without a proof", "proof", Always(False, "test.values[1]")),
    Mutant("O18", "an ID token is of the client that is named", "audience", Always(False)),
    Mutant("O18", "an ID token is of this session", "current-session", Replace("True", "value")),
    Mutant("O18", "users return to registered URLs", "registered-return", Always(False, "test.values[1]")),
    Mutant("O23", "what waits too long is dropped", "bounded", Replace("()", "iter")),
    Mutant("O23", "nothing is tried again after its time", "expiry", Always(True)),
    Mutant("O23", "a slow client has few slots", "own-slots", Replace("free", "value.value.args[0]")),
    Mutant(
        "O24",
        "clients see different ids of a session",
        "sid",
        Replace("session_id", "value.args[1]"),
    ),
)
