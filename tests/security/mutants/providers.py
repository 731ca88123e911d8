"""The defences of sign-in by providers, one by one taken out (V14 to V20, V54 to V62)."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Append, Before, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("V14", "tokens are the caller's, whoever is named", "caller-only", Always(False)),
    Mutant(
        "V14",
        "an account is looked for among the caller's own",
        "accounts-of-user",
        Replace("... | (col(Account.provider_id) == 'test')", "value.args[0].args[0]"),
    ),
    Mutant(
        "V14",
        "an account is unlinked from the caller only",
        "unlink-owner",
        Unwrap("func.value", "value"),
    ),
    Mutant(
        "V15",
        "an account whose address was not proven is not joined",
        "verified-owner",
        Always(True, "value"),
    ),
    Mutant(
        "V15",
        "an address the provider does not vouch for joins nothing",
        "vouched-email",
        Always(True, "value"),
    ),
    Mutant("V15", "only true vouches", "verified-mark", Unwrap("left", "value.args[0].elt.values[0]")),
    Mutant("V16", "a reset drops what nobody proved", "reset-secured", Replace("{}", "value")),
    Mutant("V16", "a reset ends the sessions", "reset-sessions", Unwrap("orelse", "value")),
    Mutant(
        "V17",
        "an issuer in the token does not name its own keys",
        "own-key",
        Before("if 'jku' in header:\n    await __import__('httpx').AsyncClient().get(header['jku'])"),
    ),
    Mutant(
        "V17",
        "a key in the token is not used",
        "own-key",
        Replace(
            "__import__('joserfc.jwk').jwk.import_key(header['jwk']) if 'jwk' in header else ...", "value"
        ),
    ),
    Mutant("V18", "the token is for this client", "audience", Remove()),
    Mutant(
        "V18", "of several clients this one is the authorised one", "authorized-party", Always(False, "value")
    ),
    Mutant("V18", "the issuer is the configured one", "issuer", Remove("test.values[0]")),
    Mutant("V18", "a token has an end", "expiry", Remove()),
    Mutant("V18", "clocks may differ by a minute, no more", "leeway", Replace("600", "value")),
    Mutant("V18", "a token brought by an application is young", "age", Always(False)),
    Mutant("V18", "its age is said", "claims", After("claims = {'iat': seconds, **claims}")),
    Mutant(
        "V18",
        "the nonce is the one that was sent",
        "nonce-check",
        Append("expected.nonce", "test.values[1].left"),
    ),
    Mutant("V18", "each flow has a nonce of its own", "nonce", Replace("'n' * 32", "value")),
    Mutant("V18", "userinfo is about the same subject", "userinfo-subject", Remove()),
    Mutant("V18", "only true is verified", "verified-mark", Unwrap("left", "value.args[0].elt.values[0]")),
    Mutant("V18", "what is spent is refused", "refuse-spent", Replace("return")),
    Mutant("V18", "a token that answers a nonce is spent", "mark-spent", Remove()),
    Mutant("V18", "a token that came by a visit is spent", "spend-visit", Remove()),
    Mutant("V18", "a renewed token is spent", "spend-renewed", Remove()),
    Mutant("V18", "linking spends, too", "use-id-token", Remove()),
    Mutant(
        "V18",
        "the nonce makes the difference, named or not",
        "nonce-use",
        Replace("proof.nonce", "value.test.left"),
    ),
    Mutant(
        "V18", "the signature does not count", "spent-digest", Unwrap("value.func.value", "value.args[0]")
    ),
    Mutant(
        "V18",
        "of two that spend it at once one wins",
        "insert-spent",
        Replace(
            "from sqlalchemy.dialects.postgresql import insert\n"
            "await "
            "ctx.db.execute(insert(OneTimeToken).on_conflict_do_nothing().values(digest=_digest(token), "
            "purpose=Purpose.SPENT, attempts=0, expires_at=ctx.now + _LIFE, created_at=ctx.now, "
            "updated_at=ctx.now))"
        ),
    ),
    Mutant(
        "V18",
        "between the look and the mark nobody else is taken for the one who marked",
        "mark-spent",
        Replace("spend", "value.value.func"),
    ),
    Mutant(
        "V18", "a mark stays as long as the token is valid", "spent-life", Replace("... / 2", "value.left")
    ),
    Mutant(
        "V18",
        "a mark stays when everything else ends",
        "keep-spent",
        Unwrap("func.value", "value.value.args[0]"),
    ),
    Mutant("V19", "the signature is checked", "signature", Replace("_extract(token)", "value")),
    Mutant("V19", "critical extensions are refused", "header-checks", Remove("test.values[1]")),
    Mutant("V19", "a token of another kind is no ID token", "header-checks", Remove("test.values[2]")),
    Mutant("V19", "long tokens and headers are not read", "token-size", Remove()).also(
        "header-size", Replace("10_000_000", "value")
    ),
    Mutant("V20", "a subject belongs to its provider", "provider-subject", Remove("value.args[1]")).also(
        "provider-subject", Remove("value.args[0]")
    ),
    Mutant("V20", "nothing is no subject", "no-subject", Replace("return str(value or '')")),
    Mutant("V20", "white space is no subject", "text-subject", Unwrap("func.value", "test.values[1]")),
    Mutant("V20", "0 is no subject", "numeric-subject", Remove("test.values[2]")),
    Mutant("V20", "true is no number", "numeric-subject", Remove("test.values[1]")),
    Mutant("V54", "a state belongs to a browser", "state-binding", Remove()),
    Mutant("V54", "a state ends", "state-expiry", Remove()),
    Mutant(
        "V54",
        "a state works once",
        "use-state",
        Replace(
            "__import__('sqlalchemy').update(OneTimeToken).values(updated_at=ctx.now)", "value.func.value"
        ),
    ),
    Mutant("V54", "too many cookies may be anybody's", "presented", Always(False, "test.values[1]")),
    Mutant("V54", "nobody links for somebody else", "presented", Always(False)),
    Mutant(
        "V54",
        "the session that began a link is live",
        "live-session",
        Replace("locking.lock(ctx, user_id)", "value.value"),
    ),
    Mutant(
        "V55",
        "there is no flow without a state",
        "missing-state",
        Replace("CallbackResult('/welcome', is_used_up=False)", "value"),
    ),
    Mutant("V56", "a flow ends at the provider where it began", "flow-provider", Always(False)),
    Mutant("V56", "the issuer in the redirect is the right one", "issuer-match", Replace("return")),
    Mutant("V56", "an announced issuer is there", "issuer-announced", Always(True, "value")),
    Mutant("V57", "codes are bound by PKCE", "code-challenge", Replace("None", "value")).also(
        "code-challenge-method", Replace("None", "value")
    ),
    Mutant(
        "V57", "each flow has a verifier of its own", "verifier", Replace("'v' * _VERIFIER_LENGTH", "value")
    ),
    Mutant(
        "V57",
        "the verifier itself is not shown",
        "code-challenge-method",
        Before("more['code_verifier'] = question.verifier"),
    ),
    Mutant(
        "V58",
        "a state is used up by one statement",
        "use-state",
        Replace(
            "__import__('sqlalchemy').update(OneTimeToken).values(updated_at=ctx.now)", "value.func.value"
        ),
    ),
    Mutant("V59", "redirects of a provider are not followed", "no-redirects", Always(True, "value")),
    Mutant("V59", "discovery leads to https only", "https-only", Remove("test.values[1]")),
    Mutant("V60", "an error is a word", "provider-error", Unwrap("body", "value")),
    Mutant(
        "V60", "words have no control characters", "printable", Remove("value.args[0].generators[0].ifs[0]")
    ),
    Mutant("V60", "words are short", "short-description", Unwrap("value", "value.elts[1].values[0]")),
    Mutant(
        "V60",
        "nothing is passed on for nobody's flow",
        "no-flow",
        Append("description=request.error_description", "value"),
    ),
    Mutant(
        "V60",
        "what a redirect says is encoded",
        "quoted-parameters",
        Unwrap("args[0]", "value.elt.values[0].value"),
    ).also("quoted-parameters", Replace("'<>()'", "value.elt.values[2].value.keywords[0].value")),
    Mutant(
        "V60",
        "the name of a provider is encoded",
        "quoted-provider",
        Unwrap("args[0]", "value.args[0].args[1].values[2].value"),
    ).also(
        "quoted-provider",
        Replace("(...).replace(chr(13), '').replace(chr(10), '')", "value.args[0].args[1].values[2].value"),
    ),
    Mutant(
        "V61",
        "a caller's value is one value",
        "encoded-parameters",
        Replace("__import__('urllib.parse').parse.unquote(...)", "value"),
    ),
    Mutant("V62", "a POST is answered by 303", "see-other", Replace("307", "value.body")),
    Mutant(
        "V62",
        "only what a provider sends goes on from a form",
        "form-fields",
        Remove("value.generators[0].ifs[0].values[0]"),
    ),
)
