"""Mutants of the rows P1 to P25: passkeys."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Before, Remove, Replace

_ITS_DOMAIN = (
    "next((name for name in ('example.com', 'com', 'evil.example.com')"
    " if __import__('hashlib').sha256(name.encode()).digest() in response.{}), '')"
)
_ITS_ORIGIN = "[__import__('json').loads(response.client_data).get('origin')]"

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
    Mutant("P9", "a credential has one owner", "known-credential", Replace("pass")),
    Mutant("P10", "the counter grows", "counter", Remove()),
    Mutant("P11", "a passkey stays of its kind", "eligibility", Always(False)),
    Mutant("P12", "keys are checked", "key", Replace("-7", "value")),
    Mutant("P12", "a key keeps its algorithm", "stored-algorithm", Always(False)),
    Mutant("P12", "weak keys are refused", "weak", Always(False)),
    Mutant("P13", "other formats are refused", "format", Always(False)),
    Mutant("P13", "nothing comes after the end", "trailing", Always(False)),
    Mutant("P15", "a passkey may be one factor", "factors", Replace("True", "value")),
    Mutant(
        "P19",
        "a response is used once",
        "used-once",
        Before(
            "if found is not None:\n"
            "    ctx.db.add(OneTimeToken(digest=tokens.digest_of_bytes(challenge), purpose=purpose,"
            " user_id=found.user_id, binding=None if bound is None else bound[1],"
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
)
