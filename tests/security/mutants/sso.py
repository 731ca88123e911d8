"""Mutants of the rows SSO9, SSO10 and SSO14: connections, who manages them, and their domains."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

_ANY_TEXT = "records = response.answer[-1] if response.answer else ()"

MUTANTS = (
    Mutant("SSO9", "a domain whose record stays away is lost", "lost", Remove()),
    Mutant("SSO9", "a domain is verified once", "taken", Always(False)),
    Mutant("SSO9", "only a verified domain is required", "required-proved", Always(False)),
    Mutant("SSO9", "a domain needs its record", "proof", Always(False)),
    Mutant("SSO9", "only a verified domain counts", "proved-domain", Remove()),
    Mutant(
        "SSO9",
        "both name servers have the record",
        "both-servers",
        Replace("not any(values & texts for texts in found)", "test"),
    ),
    Mutant("SSO9", "a wildcard is no record", "wildcard", Replace("return True")),
    Mutant("SSO9", "an alias is no record", "exact-name", Replace(_ANY_TEXT)),
    Mutant("SSO9", "a domain is a name of two labels", "two-labels", Always(False)),
    Mutant("SSO9", "a public suffix is nobody's domain", "public-suffix", Always(False)),
    Mutant("SSO9", "nor is a mail service", "mail-hosts", Always(False)),
    Mutant(
        "SSO10", "a name may have gone to another connection", "same-connection", Remove("test.values[1]")
    ),
    Mutant("SSO10", "sessions end with their connection", "sessions", Replace("[]", "iter")),
    Mutant("SSO10", "and identities", "identities", Replace("return 0")),
    Mutant("SSO10", "and what applications were granted", "grants", Remove()),
    Mutant("SSO10", "another provider is noticed", "other-provider", Always(False)),
    Mutant("SSO10", "administrators have the permission", "administrators", Always(True)),
    Mutant("SSO10", "connections are created by their managers", "register", Always(False)),
    Mutant("SSO10", "and managed by them", "manager", Always(False)),
    Mutant("SSO10", "the console is for administrators", "console", Remove()),
    Mutant("SSO10", "and listed for them", "list", Remove("value.generators[0].ifs[0]")),
    Mutant("SSO10", "owners manage them only if they may", "delegated", Replace("return True")),
    Mutant("SSO10", "in a fresh session", "fresh", Remove()),
    Mutant("SSO10", "also administrators", "fresh-administrator", Always(False)),
    Mutant("SSO10", "no group has owners", "never-owner", Always(False)),
    Mutant("SSO10", "a manager gives only own powers", "rank", Remove()),
    Mutant("SSO10", "there are so many connections at most", "number", Always(False)),
    Mutant("SSO14", "the URL of a provider is checked", "provider-url", Remove()),
)
