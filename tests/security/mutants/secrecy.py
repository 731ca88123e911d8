"""Mutants of the rows V31, V86 and V87: secrets in answers, in the log, in the database."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Append, Before, Replace, Unwrap

MUTANTS = (
    Mutant(
        "V31", "the list of accounts has no tokens", "account-fields", Append("'accessToken': None", "value")
    ),
    Mutant(
        "V31",
        "a provider's profile does not hold what it was asked with",
        "profile-token",
        Replace(
            "told = {**identity.profile, 'x': opened.access_token}\n"
            "return Profile(opened.account, replace(identity, profile=told))"
        ),
    ),
    Mutant(
        "V31",
        "the verifier stays within",
        "code-challenge-method",
        Before("more['code_verifier'] = question.verifier"),
    ),
    Mutant("V86", "queries are masked", "masked-query", Unwrap("args[0]", "value")),
    Mutant("V86", "paths that nobody expected are masked", "masked-path", Unwrap("args[0]", "body")),
    Mutant(
        "V86",
        "what a provider was asked with is not written down",
        "refused-log",
        Append("form=form", "value"),
    ),
    Mutant(
        "V87",
        "session tokens are kept as digests",
        "token-digest",
        Replace("{**..., 'user_agent': token}", "value"),
    ),
    Mutant(
        "V87",
        "access tokens of providers are encrypted",
        "access-token",
        Replace("... + b' ' + tokens.access_token.encode()", "value"),
    ),
    Mutant(
        "V87",
        "refresh tokens of providers are encrypted",
        "refresh-token",
        Replace("... + b' ' + tokens.refresh_token.encode()", "value"),
    ),
    Mutant(
        "V87",
        "ID tokens are encrypted",
        "id-token",
        Replace("... + b' ' + tokens.id_token.encode()", "value"),
    ),
    Mutant("V87", "a flow's verifier is encrypted", "flow-row", Append("email=flow.verifier", "value")),
    Mutant("V87", "a flow's state is kept as a digest", "flow-row", Append("email=state", "value")),
    Mutant(
        "V87",
        "a fast hash is stored only in an argon2id hash",
        "wrap-digest",
        Replace("'$argon2id$' + user.weak_hash.digest", "value"),
    ),
    Mutant(
        "V87",
        "no token that waits to be mailed is readable",
        "outbox-row",
        Replace('(payload.get("link") or "").partition("token=")[2][:32] or ...', "value.keywords[0].value"),
    ),
)
