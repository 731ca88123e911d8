"""Mutants of the rows P1 to P25: passkeys."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace

_ITS_DOMAIN = (
    "next((name for name in ('example.com', 'com', 'evil.example.com')"
    " if __import__('hashlib').sha256(name.encode()).digest() in response.{}), '')"
)
_ITS_ORIGIN = "[__import__('json').loads(response.client_data).get('origin')]"

_UNSIGNED = (
    "try:\n"
    "    ...\n"
    "except Exception as fault:\n"
    "    if 'signature' not in str(fault): raise\n"
    "    seen = parse_authenticator_data(response.authenticator_data)\n"
    "    return VerifiedAssertion(seen.sign_count, seen.flags.be, seen.flags.bs, seen.flags.uv)"
)
_EVERYBODYS = (
    "list(await ctx.db.execute(__import__('models.passkey', fromlist=['x']).FIND_PASSKEYS, user_id=user_id))"
    " if user_id else [PasskeyRow._make(['x', 'x', 'x', b'x', b'x', -7, 0, 'x', True, *[None] * 7])]"
)

MUTANTS = (
    Mutant(
        "P1",
        "a registration is for the domain",
        "registration",
        Replace(_ITS_DOMAIN.format("attestation_object"), "value"),
    ),
    Mutant(
        "P1",
        "a sign-in is for the domain",
        "sign-in",
        Replace(_ITS_DOMAIN.format("authenticator_data"), "value"),
    ),
    Mutant("P2", "a registration is of a page of the service", "registration", Replace(_ITS_ORIGIN, "value")),
    Mutant("P2", "a sign-in is of a page of the service", "sign-in", Replace(_ITS_ORIGIN, "value")),
    Mutant("P3", "no page is in a frame", "frames", Replace("True", "value")),
    Mutant("P4", "users are verified when they register", "registration", Replace("False", "value")),
    Mutant("P4", "users are verified when they sign in", "sign-in", Replace("False", "value")),
    Mutant("P5", "a challenge is of one ceremony", "purpose", Replace("True", "")),
    Mutant("P5", "a challenge expires", "expiry", Replace("True", "")),
    Mutant("P6", "a challenge is of one session", "session", Replace("used = used", "")),
    Mutant("P7", "the session is fresh", "fresh", Always(False)),
    Mutant("P8", "an authenticator names its user", "handle-present", Replace("pass")),
    Mutant("P8", "a challenge is of one user", "bound", Replace("pass")),
    Mutant("P8", "an authenticator names nobody else", "handle", Replace("True", "value")),
    Mutant("P8", "a page knows whose passkey it asks for", "expected-owner", Replace("pass")),
    Mutant("P9", "a credential has one owner", "known-credential", Replace("pass")),
    Mutant("P10", "the counter grows", "counter", Remove()),
    Mutant("P11", "a passkey stays of its kind", "eligibility", Always(False)),
    Mutant("P12", "keys are checked", "key", Replace("-7", "value")),
    Mutant("P12", "a key keeps its algorithm", "stored-algorithm", Always(False)),
    Mutant("P12", "weak keys are refused", "weak", Always(False)),
    Mutant("P13", "other formats are refused", "format", Always(False)),
    Mutant("P13", "nothing comes after the end", "trailing", Always(False)),
    Mutant("P14", "a signature is right", "signature", Replace(_UNSIGNED)),
    Mutant("P15", "a passkey may be one factor", "factors", Replace("True", "value")),
    Mutant("P16", "the gate stops the banned", "sign-in-ban", Remove()),
    Mutant("P16", "the gate stops the unverified where proof is required", "sign-in-verified", Remove()),
    Mutant(
        "P17", "the options for a stranger name no passkey", "nobody-named", Replace(_EVERYBODYS, "value")
    ),
    Mutant("P18", "a page of another site signs nobody in", "origin-check", Always(False)),
    Mutant(
        "P19",
        "a response is used once",
        "used-once",
        Before(
            "if row is not None:\n"
            "    ctx.db.add(OneTimeToken(digest=tokens.digest_of_bytes(challenge), purpose=purpose,"
            " user_id=row.user_id, binding=None if bound is None else bound[1],"
            " expires_at=ctx.now + timedelta(minutes=5), created_at=ctx.now, updated_at=ctx.now))"
        ),
    ),
    Mutant(
        "P20",
        "nobody touches the passkeys of others",
        "owner",
        Replace("or_(..., col(Passkey.id) == bindparam('passkey_id'))"),
    ),
    Mutant("P20", "nobody sees the passkeys of others", "list", Replace("or_(..., col(Passkey.id) != '')")),
    Mutant("P21", "the last way in stays", "last-way", Always(False)),
    Mutant("P22", "the number is looked at again", "stored-limit", Always(False)),
    Mutant(
        "P23",
        "names have a length, and steer no display",
        "name",
        Replace("name: &name {type: string, minLength: 1}"),
    ),
    Mutant(
        "P23",
        "the list of transports ends",
        "transports",
        Replace("transports: {type: array, items: {type: string}}"),
    ),
    Mutant(
        "P24",
        "a passkey comes with its email",
        "one-commit",
        Replace(
            "row = await ctx.in_new_transaction(job)\n"
            "await mails.passkey_added(ctx, ctx.signed_in.user, name)\n"
            "return row"
        ),
    ).also("same-commit", Remove()),
    Mutant("P25", "requests are counted", "request-limit", Always(False)),
)
