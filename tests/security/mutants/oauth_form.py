"""Mutants of the rows O22 and O25: the form of requests of the OAuth protocol."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant(
        "O22",
        "endpoints of the protocol read no session",
        "no-session",
        Replace(
            "RequireSession(self._sessions, self._policy.session_name.encode(), self._policy, True)",
            "body[0].value",
        ),
    ),
    Mutant("O25", "a parameter is sent once", "doubled", Always(False)),
    Mutant("O25", "a parameter is in the body alone", "query", Replace("[]", "value")),
    Mutant("O25", "no parameter has U+0000", "nul", Always(False)),
    Mutant("O25", "no parameter is too long", "length", Always(False)),
    Mutant("O25", "parameters are a form", "media-type", Remove()),
)
