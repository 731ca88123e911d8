"""Mutants of the hosted pages of organizations."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("H6", "an organization is as the form knew it", "seen-organization", Always(False)),
    Mutant("H6", "a role is as the form knew it", "seen-role", Always(False)),
    Mutant("H6", "a team is as the form knew it", "seen-team", Always(False)),
    Mutant("H7", "a form creates one organization", "created-organization", Always(False)),
    Mutant("H7", "a form invites once", "invited", Always(False)),
    Mutant("H7", "a form sends an invitation again once", "resent", Always(True)),
    Mutant("H7", "a form creates one team", "created-team", Always(False)),
    Mutant("ORG1", "an id tells others nothing", "other-address", Replace("True", "value")),
    Mutant("ORG3", "an id tells nothing before the sign-in", "signed-out", Always(False)),
    Mutant("ORG19", "a team is no way around the directory", "team-directory", Always(False)),
    Mutant("ORG19", "a team does not tell who is a member", "team-member-address", Remove()),
)
