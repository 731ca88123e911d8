"""Mutants of the rows H1 to H14: hosted pages."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Replace

MUTANTS = (
    Mutant("H1", "forms come from our own pages", "same-origin", Always(False)),
    Mutant(
        "H2",
        "pages are framed by nobody",
        "content-security",
        Replace("b\"default-src 'self'\"", "value.elts[1]"),
    ),
    Mutant("H8", "a form belongs to one account", "same-account", Always(True)),
)
