"""Mutants of the rows V21 to V23, V25, V27 to V30, V32 and V33: accounts and their tokens."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Before, Remove, Replace, Respell, Unwrap

MUTANTS = (
    Mutant("V21", "a change of address ends the tokens sent to the old one", "old-tokens", Remove()),
    Mutant("V21", "a newer wish ends the older link", "older-link", Remove()),
    Mutant("V21", "a link is not followed under another user's session", "link-owner", Remove()),
    Mutant("V21", "a linking is not finished under another user's session", "presented", Always(False)),
    Mutant("V21", "a linking is held against the present address", "same-email", Always(False)),
    Mutant(
        "V22",
        "a session is revoked by its token by its owner only",
        "token-owner",
        Replace("await _delete(ctx, col(Session.id) == row[0].id)", "value.test.values[1]"),
    ),
    Mutant("V22", "a session is revoked by its handle by its owner only", "session-owner", Remove()),
    Mutant(
        "V22",
        "all sessions are the caller's sessions",
        "all-of-user",
        Replace("col(Session.expires_at) > ctx.now", "value.value.args[1]"),
    ),
    Mutant("V22", "the other sessions are the caller's", "others-of-caller", Remove("value.value.args[1]")),
    Mutant(
        "V22",
        "the sessions that are listed are the caller's",
        "sessions-of-user",
        Replace("... | (col(Session.id) != '')", "args[0]"),
    ),
    Mutant("V22", "a deletion token serves its owner", "consume-owner", Remove()),
    Mutant("V22", "a trusted device is forgotten by its owner only", "device-owner", Remove()),
    Mutant(
        "V23",
        "nothing but a reset token sets a password",
        "find-token",
        Replace("one_time_tokens.find(ctx, token)", "value.value"),
    ).also("consume-token", Replace("row[0].purpose", "test.values[1].operand.value.args[1]")),
    Mutant(
        "V23",
        "the mail cannot be left out",
        "missing-token",
        Replace("return CompletedReset(await locking.lock_by_email(ctx, 'ada@example.com'), False)"),
    ),
    Mutant(
        "V23",
        "changing the password asks for the old one",
        "check-current",
        Replace("... if current else _stored(ctx)", "value.value"),
    ),
    Mutant(
        "V25",
        "the answer does not hold the code",
        "otp-answer",
        Replace(
            "from domain.mail import outbox\n"
            "sealed = ctx.cipher.decrypt(outbox.PURPOSE, ctx.outbox[-1].payload)\n"
            "return Reply({'status': True}, ((b'x-code', "
            "__import__('json').loads(sealed)['code'].encode()),))"
        ),
    ),
    Mutant(
        "V27",
        "of several live sessions none counts",
        "one-session",
        Replace("live[0] if live else None", "value"),
    ),
    Mutant(
        "V27",
        "of several live challenges none counts",
        "one-challenge",
        Replace("live[0] if live else None", "value"),
    ),
    Mutant("V27", "of too many cookies none counts", "most-presented", Replace("tokens[-4:]", "value")),
    Mutant("V27", "of two Cookie headers none is left out", "cookie-headers", Remove()),
    Mutant(
        "V27",
        "a broken cookie is text, whatever its bytes",
        "cookie-bytes",
        Replace("'utf-8'", "targets[0].slice.args[0]"),
    ),
    Mutant("V27", "a cookie that is no session is cleared", "clear-cookie", Remove()),
    Mutant("V27", "without a session nobody gets in", "session-required", Remove()),
    Mutant(
        "V27",
        "a broken cookie hides no other",
        "broken-cookie",
        Before("if b'%' in sent:\n    return ('',)"),
    ),
    Mutant(
        "V28",
        "a malformed header is not left aside for the cookie",
        "malformed-authorization",
        Replace("None if scheme else MALFORMED", "value"),
    ),
    Mutant(
        "V28",
        "a header of any bytes is read",
        "authorization-bytes",
        Replace("(...).decode('ascii').encode()", "value.args[0]"),
    ),
    Mutant("V28", "of two headers none counts", "one-authorization", Remove()),
    Mutant("V28", "the scheme is known in any case", "bearer-scheme", Remove("value.args[1]")).also(
        "bearer-scheme", Respell(b"bearer", b"Bearer")
    ),
    Mutant("V28", "another scheme is left aside", "malformed-authorization", Unwrap("body", "value")),
    Mutant("V28", "headers have a largest size", "header-size", Remove()),
    Mutant(
        "V28",
        "a token in another header is none",
        "bearer-only",
        Before("values = values or (request.head.fields.get(b'x-auth-token', b'').decode(),)"),
    ),
    Mutant("V29", "a token that is looked at serves one purpose", "live-grant", Remove("test.values[1]")),
    Mutant("V29", "a token is used up for its purpose", "consume-purpose", Remove()),
    Mutant("V29", "a token is used up for what it is, not for whose it is", "consume-digest", Remove()),
    Mutant(
        "V29",
        "a token is compared as it is",
        "digest",
        Replace("(...).lower()", "value.func.value.args[0].func.value"),
    ),
    Mutant(
        "V30",
        "sign-up takes the fields it offers",
        "sign-up-fields",
        Before(
            "if 'role' in body:\n"
            "    from models.user import CHANGE_USER\n"
            "    await ctx.db.execute(CHANGE_USER, whose=user.id, role=body['role'], updated_at=ctx.now)"
        ),
    ),
    Mutant("V30", "a new address is nobody's until it is proven", "new-email", Always(True, "value")),
    Mutant(
        "V30",
        "update-user takes the fields it offers",
        "profile-fields",
        After("changes |= {'role': body['is_admin'] and 'admin'} if 'is_admin' in body else {}"),
    ),
    Mutant(
        "V30",
        "update-user refuses what only the service sets",
        "owned-fields",
        Replace("... and key != 'role'", "test"),
    ),
    Mutant("V30", "update-user leaves the address alone", "email-field", Remove()),
    Mutant(
        "V27",
        "no other provider takes the place of an unknown one",
        "known-provider",
        Replace("... or next(iter(ctx.providers.values()), None)", "value"),
    ),
    Mutant(
        "V32",
        "a provider finds users by an address they have proven",
        "verified-owner",
        Always(True, "value"),
    ),
    Mutant(
        "V32", "a provider finds users by an address it vouches for", "vouched-email", Always(True, "value")
    ),
    Mutant(
        "V32",
        "what a provider does not vouch for is not linked",
        "trusted-provider",
        Remove("test.values[1]"),
    ),
    Mutant(
        "V32",
        "a new user's address is proven where the provider says so",
        "provider-verified",
        Always(True, "value"),
    ),
    Mutant("V32", "codes go to a proven address only", "otp-verified", Remove()).also(
        "otp-still-verified", Always(False)
    ),
    Mutant("V32", "a new address is unproven", "unverified", Always(True, "value.value.keywords[0].value")),
    Mutant(
        "V32",
        "a proven address waits for the proof of the next",
        "immediate-change",
        Remove("value.values[0]"),
    ),
    Mutant("V32", "where proof is required nobody gets in without", "sign-in-verified", Remove()),
    Mutant(
        "V32",
        "where proof is required signing up opens no session",
        "sign-up-session",
        Remove("value.values[1]"),
    ),
    Mutant("V32", "with a session only one's own address is verified", "own-email", Remove()),
    Mutant("V33", "a ban ends a session", "session-ban", Remove("test.values[1]")),
    Mutant("V33", "the gate stops the banned", "sign-in-ban", Remove()),
    Mutant("V33", "the second step stops the banned", "challenge-ban", Remove()),
    Mutant(
        "V33", "a ban that has ended stops no second step", "challenge-ban", Replace("user.banned", "test")
    ),
    Mutant(
        "V33",
        "a ban that has ended ends no session",
        "session-ban",
        Replace("user.banned", "test.values[1].operand"),
    ),
    Mutant("V33", "a ban ends what was begun at a provider", "held-ban", Remove()),
    Mutant("V33", "a ban that has ended is none", "ban-expiry", Remove("value.values[1]")),
    Mutant("V33", "a ban holds to its end", "ban-expiry", Remove("value.values[1].values[1]")),
    Mutant("V33", "a ban that has ended is lifted", "lift-ban", Remove()),
)
