"""Mutants of sign-in and sign-out through connections: who signs in, in which browser, and by which way only."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("SSO5", "a flow is of this connection", "own-flow", Always(True, "value.test")),
    Mutant(
        "SSO5", "a response answers the request of this browser", "own-request", Replace("('_',)", "value")
    ),
    Mutant("SSO5", "unsolicited responses need both switches", "both-switches", Replace("True", "value")),
    Mutant("SSO5", "a message is used once", "replay", Replace("return True")),
    Mutant("SSO5", "a response is used in the browser that began", "state-binding", Remove()),
    Mutant("SSO6", "a session ends with that at the provider", "session-end", Replace("pass")),
    Mutant("SSO8", "an address is in a domain of the connection", "own-domain", Always(False)),
    Mutant("SSO8", "a domain is verified", "verified-only", Remove("value.generators[0].ifs[0]")),
    Mutant("SSO8", "a user has one address", "one-address", Always(False)),
    Mutant("SSO8", "a stranger keeps nothing", "unproven", Replace("removed: dict[str, int] = {}")),
    Mutant("SSO8", "a second factor is passed before linking", "factor-once", Replace("False", "value")),
    Mutant("SSO8", "a known user is still in a domain of the connection", "current-domain", Always(False)),
    Mutant("SSO8", "a domain of another company is not ours", "other-domain", Replace("True", "value")),
    Mutant("SSO8", "a user outside the domains is still a member", "still-member", Replace("True", "value")),
    Mutant("SSO10", "a connection is the one that identified the user", "unchanged", Always(False)),
    Mutant("SSO10", "another subject claim is another provider", "subject-claim", Remove("value.values[2]")),
    Mutant("SSO10", "a kept response ends with the connection", "kept-unchanged", Always(False)),
    Mutant("SSO10", "a pending sign-in ends with the connection", "pending", Always(False)),
    Mutant("SSO10", "no group makes an owner", "owner-never", Remove("value.generators[0].ifs[0].values[1]")),
    Mutant("SSO10", "no group takes an owner's role", "owner-stays", Remove("test.values[0]")).also(
        "owner-locked", Remove("test.values[2]")
    ),
    Mutant("SSO11", "the gate asks whether a connection is required", "gate", Always(False)),
    Mutant(
        "SSO11",
        "a domain requires its own connection",
        "own-connection",
        Replace("connection_id is not None", "test.values[1]"),
    ),
    Mutant("SSO11", "only required domains end sessions", "ended-domain", Always(True)),
    Mutant("SSO11", "who is exempt stays signed in", "ended-exempt", Always(False)),
    Mutant("SSO11", "sessions of other ways end", "old-sessions", Remove()),
    Mutant("SSO11", "a password opens nothing", "password", Remove()),
    Mutant("SSO11", "a sign-in that waits is not completed", "challenge", Remove()),
    Mutant("SSO11", "a sign-in on its way opens nothing", "on-its-way", Replace("True", "value")),
    Mutant("SSO11", "a change of the password opens nothing", "password-change", Remove()),
    Mutant("SSO11", "nobody signs up", "sign-up", Remove()),
    Mutant("SSO11", "no link is sent", "link", Remove()),
    Mutant("SSO11", "no code is sent", "code", Remove()),
    Mutant("SSO11", "an address is refused for all", "address", Always(False)),
    Mutant("SSO11", "a reset mails the way in", "reset-mail", Always(False)),
    Mutant("SSO11", "a reset by code mails the way in", "reset-code", Always(False)),
    Mutant("SSO11", "no address leaves the domain", "out-of-domain", Remove()),
    Mutant("SSO11", "no address enters the domain", "into-domain", Always(False)),
    Mutant("SSO11", "only a second factor exempts", "exempt-factor", Always(False)),
    Mutant("SSO11", "only owners are exempt", "exempt-owner", Replace("True", "value")),
    Mutant("SSO14", "requests go where the guard allows", "guard", Replace("addresses = ['127.0.0.1']")),
    Mutant("SSO15", "a message is used once", "replay", Replace("return True")),
    Mutant("SSO15", "a new session keeps its origin", "rotation", Replace("None", "value")),
    Mutant("SSO15", "the session of a device keeps its origin", "device-origin", Replace("None", "value")),
    Mutant(
        "SSO15",
        "a subject and a session must both match",
        "both-match",
        Replace("set.union(*found)", "value.body.args[0]"),
    ),
    Mutant(
        "SSO15",
        "a logout token is for this client",
        "logout-audience",
        Replace("{'essential': True}", "value"),
    ),
    Mutant("SSO15", "an ID token is no logout token", "logout-claims", Always(False)),
    Mutant("SSO15", "an access token is no logout token", "header-checks", Remove("test.values[2]")),
)
