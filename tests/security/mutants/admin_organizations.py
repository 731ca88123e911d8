"""Mutants of the administration of organizations."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("ADM24", "organizations of others need the permission", "organizations", Remove()),
    Mutant(
        "ORG8", "an invitation is one of the organization", "invitation-scope", Replace("row is None", "test")
    ),
    Mutant("C8", "an organization is changed as it was shown", "seen-organization", Always(False)),
)
