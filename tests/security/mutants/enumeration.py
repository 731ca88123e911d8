"""Mutants of the rows V70 to V73: who is registered, and what a request may cost."""

from tests.security.mutants.mutant import Mutant

_READ = "        found = await ctx.reads.one(candidate_by(column, ctx.policy.session.few), identifier)\n"
_VERIFY = "    if not await ctx.hasher.verify(password, stored) or found is None or stored is None:\n"
_FILE_RESET = '    passwords.request_reset(ctx, body["email"], body.get("redirectTo"))\n'

MUTANTS = (
    Mutant(
        "V70",
        "an unknown user is refused like a wrong password",
        "domain/authentication.py",
        _VERIFY,
        "    if found is None:\n        raise errors.InvalidToken\n" + _VERIFY,
    ),
    Mutant(
        "V70",
        "a ban is told only to who knows the password",
        "domain/authentication.py",
        _READ,
        _READ + "        if found is not None and found.user.is_banned(ctx.now):\n"
        "            raise errors.BannedUser\n",
    ),
    Mutant(
        "V70",
        "an unverified address is told only to who knows the password",
        "domain/authentication.py",
        _READ,
        _READ + "        if found is not None and ctx.policy.verification_required:\n"
        "            if not found.user.email_verified:\n"
        "                raise errors.EmailNotVerified\n",
    ),
    Mutant(
        "V70",
        "sign-up answers alike where it makes no session",
        "domain/authentication.py",
        "    if _makes_session(ctx):\n        raise errors.UserAlreadyExistsUseAnotherEmail",
        "    if True:\n        raise errors.UserAlreadyExistsUseAnotherEmail",
    ),
    Mutant(
        "V70",
        "the invented user looks like a real one",
        "domain/authentication.py",
        "    return invented\n",
        "    return owner\n",
    ),
    Mutant(
        "V70",
        "nobody is looked up for an ID token that proves nothing",
        "domain/social.py",
        "    except (errors.Unauthenticated, errors.ProviderUnavailable) as refused:\n",
        "    except (errors.Unauthenticated, errors.ProviderUnavailable) as refused:\n"
        '        claims = __import__("joserfc.jws").jws.extract_compact(direct.id_token.encode()).payload\n'
        '        address = __import__("json").loads(claims).get("email", "")\n'
        "        if await ctx.apart(partial(users.by_email, email=address)) is not None:\n"
        "            raise errors.OauthLinkError from refused\n",
    ),
    Mutant(
        "V70",
        "the answer to who forgot tells nothing",
        "handlers/passwords.py",
        _FILE_RESET,
        _FILE_RESET + "    from domain import users\n"
        '    if await users.by_email(ctx, body["email"].lower()) is None:\n'
        "        raise errors.InvalidResetToken\n",
    ),
    Mutant(
        "V70",
        "the answer to who wants to be verified tells nothing",
        "domain/emails.py",
        "    if ctx.caller is None:\n",
        "    if ctx.caller is None and await users.by_email(ctx, email.lower()) is None:\n"
        "        raise errors.EmailMismatch\n"
        "    if ctx.caller is None:\n",
    ),
    Mutant(
        "V70",
        "a taken address is not told to who wants to move there",
        "domain/emails.py",
        "    if await _is_taken(ctx, address):\n        # A row",
        "    if await _is_taken(ctx, address):\n        raise errors.EmailMismatch\n        # A row",
    ),
    Mutant(
        "V70",
        "mail goes out after the answer, whatever becomes of it",
        "handlers/passwords.py",
        _FILE_RESET,
        _FILE_RESET + "    async def failed(other: Context) -> bool:\n"
        "        from sqlalchemy import text\n"
        '        known = "SELECT 1 FROM outbox WHERE last_error IS NOT NULL"\n'
        "        return (await other.db.execute(text(known))).first() is not None\n\n"
        "    if await ctx.apart(failed):\n"
        "        raise errors.InvalidResetToken\n",
    ),
    Mutant(
        "V71",
        "a dummy is verified for who is unknown",
        "domain/authentication.py",
        _VERIFY,
        "    if found is None:\n        raise refusal\n" + _VERIFY,
    ),
    Mutant(
        "V71",
        "the dummy costs a hash",
        "server/hashing.py",
        "        self._argon2.verify(_normal(password)[:MAX_PASSWORD_SIZE], self._dummy)\n        return False",
        "        return False",
    ),
    Mutant(
        "V71",
        "a caller without a password costs a hash too",
        "domain/passwords.py",
        '        await ctx.hasher.verify(current or "", None)\n',
        "",
    ),
    Mutant(
        "V71",
        "sign-up hashes before it looks whether the address is taken",
        "domain/authentication.py",
        "    user, hashed = await new_user(ctx, wanted)\n",
        "    if await users.lock_by_email(ctx, wanted.email.lower()) is not None:\n"
        "        raise errors.InvalidEmail\n"
        "    user, hashed = await new_user(ctx, wanted)\n",
    ),
    Mutant(
        "V71",
        "who forgot is looked up after the answer",
        "handlers/passwords.py",
        _FILE_RESET,
        "    from domain import users\n"
        '    if await users.by_email(ctx, body["email"].lower()) is not None:\n'
        '        passwords.request_reset(ctx, body["email"], body.get("redirectTo"))\n',
    ),
    Mutant(
        "V71",
        "who wants to be verified is looked up after the answer",
        "domain/emails.py",
        "        mails.file_verification_request(ctx, email.lower(), callback_url)\n        return\n",
        "        await resolve_verification(ctx, email.lower(), callback_url)\n        return\n",
    ),
    Mutant(
        "V71",
        "no answer waits for the mail",
        "server/requests.py",
        "        if ctx.outbox:\n            self.mailed()\n",
        "        if ctx.outbox:\n"
        "            self.mailed()\n"
        "            import asyncio\n"
        "            from sqlalchemy import text\n"
        "            waiting = True\n"
        "            while waiting:\n"
        "                await asyncio.sleep(0.01)\n"
        "                async with self.database.transaction() as db:\n"
        "                    query = \"SELECT 1 FROM outbox WHERE lease_until IS NOT NULL AND state = 'queued'\"\n"
        "                    waiting = (await db.execute(text(query))).first() is not None\n",
    ),
    Mutant(
        "V72",
        "a body has a limit",
        "server/service_groups.py",
        "    max_body: Size = Field(default=65536,",
        "    max_body: Size = Field(default=2**24,",
    ),
    Mutant(
        "V72",
        "what is too long for a password is not even compared",
        "server/hashing.py",
        "        if len(password) > LONGEST_PASSWORD:\n            return False\n",
        "",
    ),
    Mutant(
        "V72",
        "what is too long for a new password is not brought into its normal form",
        "domain/new_password.py",
        "    if len(password) > LONGEST_PASSWORD:\n        raise PasswordTooLong\n",
        "",
    ),
    Mutant(
        "V72",
        "every character of a password counts",
        "server/hashing.py",
        '    return unicodedata.normalize("NFKC", password)',
        '    return unicodedata.normalize("NFKC", password)[:72]',
    ),
    Mutant(
        "V72",
        "every byte of a password counts",
        "server/hashing.py",
        '    return unicodedata.normalize("NFKC", password)',
        '    return unicodedata.normalize("NFKC", password).encode()[:72].decode("utf-8", "ignore")',
    ),
    Mutant(
        "V72",
        "hashing leaves the event loop to others",
        "server/hashing_threads.py",
        "            self._executor.submit(run_and_tell, jobs, self._end)\n",
        "            run_and_tell(jobs, self._end)\n",
    ),
    Mutant(
        "V72",
        "only so many hashes wait",
        "server/hashing_threads.py",
        "        return self._busy >= self._size and len(self._waiting) >= self._queue\n",
        "        return False\n",
    ),
    Mutant(
        "V73",
        "a body that announces its length is refused before it comes",
        "server/pipeline/sizes.py",
        "    if announced is not None and announced.isdigit() and int(announced) > max_body:",
        "    if False:",
    ),
    Mutant(
        "V73",
        "a body that announces nothing is refused when it has become too long",
        "server/pipeline/body.py",
        "        if size > max_body:",
        "        if False:",
    ),
)
