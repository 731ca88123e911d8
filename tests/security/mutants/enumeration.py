"""Mutants of the rows V70 to V73: who is registered, and what a request may cost."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Before, Remove, Replace

MUTANTS = (
    Mutant(
        "V70",
        "an unknown user is refused like a wrong password",
        "same-refusal",
        Before("if row is None:\n    raise errors.InvalidToken"),
    ),
    Mutant(
        "V70",
        "a ban is told only to who knows the password",
        "stored-hash",
        Before(
            "from domain.users.errors import BannedUser\n"
            "if row is not None and row.user.is_banned(ctx.now):\n    raise BannedUser"
        ),
    ),
    Mutant(
        "V70",
        "an unverified address is told only to who knows the password",
        "stored-hash",
        Before(
            "from domain.emails.policy import EmailVerificationPolicy\n"
            "from domain.users.errors import EmailNotVerified\n"
            "if row is not None and ctx.policy[EmailVerificationPolicy].required:\n"
            "    if not row.user.email_verified:\n"
            "        raise EmailNotVerified"
        ),
    ),
    Mutant("V70", "sign-up answers alike where it makes no session", "same-answer", Always(True)),
    Mutant("V70", "the invented user looks like a real one", "invented-user", Replace("owner", "value")),
    Mutant(
        "V70",
        "nobody is looked up for an ID token that proves nothing",
        "turned-away",
        Before(
            "claims = "
            "__import__('joserfc.jws').jws.extract_compact(direct.id_token.encode()).payload\n"
            "address = __import__('json').loads(claims).get('email', '')\n"
            "from domain.users import lookup\n"
            "if await ctx.in_new_transaction(partial(lookup.by_email, email=address)) is not None:\n"
            "    raise OauthLinkError from refused"
        ),
    ),
    Mutant(
        "V70",
        "the answer to who forgot tells nothing",
        "reset-answer",
        Before(
            "from domain.passwords.errors import InvalidResetToken\n"
            "from domain.users import lookup\n"
            "if await lookup.by_email(ctx, body['email'].lower()) is None:\n"
            "    raise InvalidResetToken"
        ),
    ),
    Mutant(
        "V70",
        "the answer to who wants to be verified tells nothing",
        "send-verification",
        Before(
            "from domain.users import lookup\n"
            "if ctx.caller is None and await lookup.by_email(ctx, email.lower()) is None:\n"
            "    raise EmailMismatch"
        ),
    ),
    Mutant(
        "V70",
        "a taken address is not told to who wants to move there",
        "taken-email",
        After("if is_taken: raise EmailMismatch"),
    ),
    Mutant(
        "V70",
        "mail goes out after the answer, whatever becomes of it",
        "reset-answer",
        Before(
            "async def failed(other: Context) -> bool:\n"
            "    from sqlalchemy import text\n"
            "    known = 'SELECT 1 FROM outbox WHERE last_error IS NOT NULL'\n"
            "    return (await other.db.execute(text(known))).first() is not None\n"
            "from domain.passwords.errors import InvalidResetToken\n"
            "if await ctx.in_new_transaction(failed):\n"
            "    raise InvalidResetToken"
        ),
    ),
    Mutant(
        "V71",
        "a dummy is verified for who is unknown",
        "same-refusal",
        Before("if row is None:\n    raise refusal"),
    ),
    Mutant("V71", "the dummy costs a hash", "dummy-hash", Remove()),
    Mutant("V71", "a caller without a password costs a hash too", "no-password-hash", Remove()),
    Mutant(
        "V71",
        "sign-up hashes before it looks whether the address is taken",
        "hash-first",
        Before(
            "if await locking.lock_by_email(ctx, new.email.lower()) is not None:\n"
            "    raise UserAlreadyExistsUseAnotherEmail"
        ),
    ),
    Mutant(
        "V71",
        "who forgot is looked up after the answer",
        "after-answer",
        Replace(
            "from domain.passwords.errors import InvalidResetToken\n"
            "from domain.users import lookup\n"
            "if await lookup.by_email(ctx, body['email'].lower()) is not None:\n"
            "    ..."
        ),
    ),
    Mutant(
        "V71",
        "verification is queued for unknown addresses too",
        "file-verification",
        Replace(
            "from domain.users import lookup\n"
            "if await lookup.by_email(ctx, email.lower()) is not None:\n"
            "    ..."
        ),
    ),
    Mutant(
        "V71",
        "no answer waits for the mail",
        "mailed",
        After(
            "import asyncio\n"
            "from sqlalchemy import text\n"
            "waiting = True\n"
            "while waiting:\n"
            "    await asyncio.sleep(0.01)\n"
            "    async with self.database.transaction() as db:\n"
            '        query = "SELECT 1 FROM outbox WHERE lease_until IS NOT NULL AND state = '
            "'queued'\"\n"
            "        waiting = (await db.execute(text(query))).first() is not None"
        ),
    ),
    Mutant("V72", "a body has a limit", "max-body", Replace("2 ** 24", "value.args[0]")),
    Mutant("V72", "what is too long for a password is not even compared", "password-length", Remove()),
    Mutant(
        "V72",
        "what is too long for a new password is not brought into its normal form",
        "new-password-length",
        Remove(),
    ),
    Mutant("V72", "every character of a password counts", "whole-password", Replace("...[:72]", "value")),
    Mutant(
        "V72",
        "every byte of a password counts",
        "whole-password",
        Replace("(...).encode()[:72].decode('utf-8', 'ignore')", "value"),
    ),
    Mutant(
        "V72",
        "hashing leaves the event loop to others",
        "executor",
        Replace("self._executor.submit(lambda value=job(*arguments, **named): value)", "value"),
    ),
    Mutant("V72", "only so many hashes wait", "queue-bound", Always(False, "value")),
    Mutant(
        "V73", "a body that announces its length is refused before it comes", "announced-size", Always(False)
    ),
    Mutant(
        "V73",
        "a body that announces nothing is refused when it has become too long",
        "body-size",
        Always(False),
    ),
)
