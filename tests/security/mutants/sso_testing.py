"""Mutants of test sign-ins."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("SSO17", "managers test a connection", "managers", Replace("connection = row")),
    Mutant("SSO17", "nothing is said about users of other domains", "own-domain", Always(False)),
    Mutant("SSO17", "a result is for one session", "own-result", Remove()),
    Mutant("SSO17", "a result expires", "result-life", Remove()),
    Mutant("SSO17", "a test by OpenID Connect opens no session", "openid-test", Always(False)),
    Mutant("SSO17", "a test by SAML opens no session", "saml-test", Always(False)),
)
