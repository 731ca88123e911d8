"""Mutants of the hosted pages of single sign-on."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove

MUTANTS = (
    Mutant("H6", "a connection is as the form knew it", "seen-connection", Remove()),
    Mutant("H7", "a form creates one connection", "created-connection", Always(True)),
)
