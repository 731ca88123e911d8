"""Mutants of directories."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("SSO12", "a token ends", "token-expiry", Remove()),
    Mutant("SSO12", "a paused connection has no directory", "paused", Remove()),
    Mutant("SSO12", "managers manage tokens", "managers", Replace("connection = row")),
    Mutant("SSO12", "no part of a request is stored", "stored-message", Always(True, "value.test")),
    Mutant("SSO12", "users are of one directory", "own-users", Remove()),
    Mutant("SSO12", "groups are of one directory", "own-teams", Remove()),
    Mutant("SSO12", "members are of the directory", "own-members", Always(False)),
    Mutant("SSO12", "addresses are in the domains", "domain", Always(False)),
    Mutant("SSO12", "a user who has left keeps the address", "former-address", Replace("is_inside = True")),
    Mutant(
        "SSO12", "who has left the domains is not the directory's", "own-addresses", Replace("rows = [*rows]")
    ),
    Mutant("SSO12", "who has left the organization is not", "own-while-members", Replace("return rows")),
    Mutant("SSO12", "accounts of those who have left the domains stay", "own-account", Always(False)),
    Mutant("SSO12", "strangers with a second factor stay out", "unproven-factor", Always(False)),
    Mutant("SSO12", "roles of former groups do not return", "group-roles-end", Always(False)),
    Mutant("SSO12", "teams of directories are theirs", "managed-teams", Always(False)),
    Mutant("SSO13", "tokens of a disabled user end", "own-tokens", Remove()),
    Mutant("SSO13", "grants in sessions of the connection end", "grants", Remove()),
    Mutant("N2", "tokens of directories end", "directory-tokens", Remove()),
    Mutant("M5", "tokens of directories are removed", "directory-tokens", Replace("()", "value")),
    Mutant("SSO12", "accounts that others have stay", "others", Always(False)),
    Mutant("SSO12", "owners and administrators stay", "protected", Always(False)),
    Mutant(
        "SSO12", "nobody becomes an owner", "no-owner", Replace("return directory.connection.default_role")
    ),
    Mutant("SSO12", "no owner is demoted", "owners-stay", Always(False)),
    Mutant("SSO12", "no password is set", "password", Always(False)),
    Mutant("SSO12", "what strangers prepared ends", "unproven", Replace("removed = {}")),
    Mutant("SSO12", "filters are bounded", "filter-length", Always(False)),
    Mutant("SSO12", "operations are bounded", "operations", Always(False)),
    Mutant("SSO12", "operations that copy the resource are fewer", "applied", Always(False)),
    Mutant("R32", "bodies are texts that can be stored", "scim-body", Always(False)),
    Mutant("SSO12", "attributes are bounded", "size", Always(False)),
    Mutant("SSO12", "parameters are sent once", "one-value", Always(False)),
    Mutant("SSO13", "half of the members stay", "stop", Always(False)),
    Mutant("SSO13", "a stopped directory stays so", "stays-stopped", Remove()),
    Mutant("SSO13", "users who are disabled as they are added count", "added-disabled", Remove()),
    Mutant(
        "SSO13", "a disabled user stays out when an older ban ends", "lasting-ban", Replace("not user.banned")
    ),
    Mutant("SSO13", "no sign-in gives back what a directory has ended", "stays-disabled", Remove()),
    Mutant("SSO13", "no invitation does", "no-member", Remove()),
    Mutant("SSO13", "a removed user leaves even if disabled", "removed-too", Remove()),
    Mutant("SSO13", "bans by others keep their reasons", "kept-reason", Replace("reason", "value")),
    Mutant("SSO13", "an old version changes nothing", "version", Always(False)),
    Mutant("SSO13", "only its own ban is lifted", "own-ban", Replace("user.banned", "test")),
)
