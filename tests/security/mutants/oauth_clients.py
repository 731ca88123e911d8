"""Mutants of the rows O1, O11 to O14 and O16: OAuth clients, their authentication, registration and management."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("O1", "a redirect URI has one meaning", "form", Always(False)),
    Mutant(
        "O1", "and is compared byte for byte", "equality", Replace("any(map(uri.startswith, known))", "test")
    ),
    Mutant(
        "O1",
        "with any port of a loopback literal",
        "loopback-literal",
        Replace("_HTTP.fullmatch(uri)", "value"),
    ),
    Mutant("O11", "a disabled client is refused", "disabled", Always(False)),
    Mutant("O11", "a public client has no secret", "public", Replace("allows_public", "body[0].value")),
    Mutant("O11", "a client with a key has no other way", "key-client", Replace("return None", "body[0]")),
    Mutant("O11", "a client authenticates in one way", "one-way", Always(False)),
    Mutant("O11", "with one id", "same-id", Always(False)),
    Mutant("O11", "a previous secret ends", "previous-until", Replace("is_current or is_previous", "value")),
    Mutant(
        "O11", "a token for a client itself needs credentials", "public-client-credentials", Always(False)
    ),
    Mutant("O12", "it is signed", "algorithm", Replace("('none', *...)", "value.args[2]")),
    Mutant("O12", "an assertion ends soon", "expiry", Replace("expiry is None", "test")),
    Mutant("O12", "it is for this service", "audience", Replace("True", "value")),
    Mutant("O12", "it is used once", "once", Replace("True", "value")),
    Mutant("O13", "a web application is not on the user's machine", "loopback", Always(False)),
    Mutant("O13", "privileged members are ignored", "privileged-ignored", Replace("{**sent}", "value")),
    Mutant("O13", "or refused", "privileged-refused", Always(False)),
    Mutant("O13", "keys do not come from elsewhere", "jwks-uri", Always(False)),
    Mutant("O13", "there are so many redirect URIs at most", "number-of-uris", Always(False)),
    Mutant("O13", "a network registers so many clients", "quota", Remove()),
    Mutant("O13", "without a token a client has no secret", "open-method", Always(False)),
    Mutant("O13", "and few grant types", "open-grants", Always(False)),
    Mutant("O13", "a token has so many uses", "token-uses", Remove()),
    Mutant("O13", "and an end", "token-expiry", Replace("... | True")),
    Mutant("O14", "a secret is stored as a digest", "secret-digest", Replace("secret.encode()", "value")),
    Mutant("O14", "clients belong to their owners", "owner", Replace("row is None", "test")),
    Mutant("O14", "who alone read them", "owner-read", Always(False)),
    Mutant("O14", "management needs the permission", "permission", Remove()),
    Mutant("O14", "and a fresh session", "fresh", Remove()),
    Mutant("O14", "all clients are for those who may manage the service", "administrators", Remove()),
    Mutant("O14", "grants of a user are for those who may list sessions", "list-grants", Remove()),
    Mutant("O14", "and are ended by those who may revoke them", "end-grants", Remove()),
    Mutant(
        "O14",
        "whom the user does not outrank",
        "end-grants-rank",
        Replace("await targets.existing(ctx, user_id)", "value"),
    ),
    Mutant("O16", "codes of a removed redirect URI end", "redirect-uri-removed", Always(False)),
    Mutant("O16", "grants of a disabled client end", "client-grants", Remove()),
)
