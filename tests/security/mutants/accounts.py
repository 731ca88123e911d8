"""Mutants of the rows V21 to V23, V25, V27 to V30, V32 and V33: accounts and their tokens."""

from tests.security.mutants.mutant import Mutant

_EMAILS = "domain/emails.py"
_GRANTS = "domain/grants.py"
_SESSIONS = "domain/sessions.py"
_PASSWORDS = "domain/passwords.py"
_AUTHENTICATION = "domain/authentication.py"
_TWO_FACTOR = "domain/two_factor.py"
_HEAD = "server/pipeline/head.py"
_SECURITY = "server/pipeline/security.py"
_HANDLERS = "handlers/users.py"

_PURPOSE = "        col(Grant.purpose) == purpose,\n"
_OWNER = "        col(Grant.user_id) == user_id,\n"
_EXPIRY = "        col(Grant.expires_at) > ctx.now,\n"
_OWN_SESSION = " if found is not None and found[0].user_id == caller.user.id else None"
_END_SESSION = '        _is(Session.id, "id"),\n        _is(Session.user_id, "user_id"),\n'
_OTHERS = "col(Session.user_id) == caller.user.id, col(Session.id) != caller"

_RESET = """    found = await grants.find_live(ctx, Purpose.RESET, token)
    if found is None:
        _refuse_token(ctx, None)
    _check_common(ctx, new, found[1])
    hashed = await ctx.hasher.hash(new)
    user = await users.lock(ctx, found[1].id)
    if user is None or not await grants.consume(ctx, Purpose.RESET, user.id, token):
"""
_RESET_BY_ANYTHING = _RESET.replace("find_live(ctx, Purpose.RESET,", "find(ctx,").replace(
    "consume(ctx, Purpose.RESET,", "consume(ctx, found[0].purpose,"
)

_PROVEN = """    if not ctx.signed_in.user.email_verified:
        raise errors.EmailNotVerified
    prepared = await backup_codes.prepare(ctx)
    user = await passwords.lock_caller(ctx, stored)
    if not user.email_verified:
"""
_UNPROVEN = """    prepared = await backup_codes.prepare(ctx)
    user = await passwords.lock_caller(ctx, stored)
    if False:
"""

_SEND = '    await verification.send_otp(ctx)\n    return {"status": True}\n'
_SEND_AND_TELL = """    await verification.send_otp(ctx)
    from domain import outbox
    sealed = ctx.cipher.decrypt(outbox.PURPOSE, ctx.outbox[-1].payload)
    return Reply({"status": True}, ((b"x-code", __import__("json").loads(sealed)["code"].encode()),))
"""

_SCHEME = '        return MALFORMED if scheme is None or scheme[1].lower() == b"bearer" else None'
_TOKEN = "        if token and secrets.is_token(token):\n            request.caller"
_CHANGES = "    changes = {column: body[key] for key, column in _PROFILE.items() if key in body}\n"
_BANNED = """    if user.is_banned(ctx.now):
        audit.sign_in_banned(ctx, user.id, wanted.method, errors.BannedUser)
        raise errors.BannedUser
"""
_BAN = "return banned and (expires is None or now < expires)"

MUTANTS = (
    Mutant(
        "V21",
        "a change of address ends the tokens sent to the old one",
        _EMAILS,
        "    await grants.revoke(ctx, user.id, *DIES_WITH_ADDRESS)\n",
        "",
    ),
    Mutant(
        "V21",
        "a newer wish ends the older link",
        _EMAILS,
        "    await grants.revoke(ctx, user.id, Purpose.CHANGE_EMAIL)\n",
        "",
    ),
    Mutant(
        "V21",
        "a link is not followed under another user's session",
        _EMAILS,
        "        raise errors.InvalidUser\n",
        "        pass\n",
    ),
    Mutant(
        "V21",
        "a linking is not finished under another user's session",
        "domain/linking.py",
        "    if presented is None:\n        return\n",
        "    return\n",
    ),
    Mutant(
        "V21",
        "a linking is held against the present address",
        "domain/linking.py",
        "    if address != user.email and not rules.allow_different_emails:",
        "    if False:",
    ),
    Mutant(
        "V22",
        "a session is revoked by its token by its owner only",
        _SESSIONS,
        f"{_OWN_SESSION}\n\n\nasync def revoke_all(",
        " if found is not None and await _delete(ctx, col(Session.id) == found[0].id) else None"
        "\n\n\nasync def revoke_all(",
    ),
    Mutant(
        "V22",
        "a session is revoked by its handle by its owner only",
        "models/commands.py",
        _END_SESSION,
        _END_SESSION.replace('        _is(Session.user_id, "user_id"),\n', ""),
    ),
    Mutant(
        "V22",
        "all sessions are the caller's sessions",
        _SESSIONS,
        "    return await _delete(ctx, col(Session.user_id) == user.id)\n",
        "    return await _delete(ctx, col(Session.expires_at) > ctx.now)\n",
    ),
    Mutant("V22", "the other sessions are the caller's", _SESSIONS, _OTHERS, "col(Session.id) != caller"),
    Mutant(
        "V22",
        "the sessions that are listed are the caller's",
        "models/queries.py",
        "col(Session.token_copy)).where(by(Session.user_id))",
        "col(Session.token_copy)).where(by(Session.user_id) | (col(Session.id) != ''))",
    ),
    Mutant("V22", "a deletion token serves its owner", _GRANTS, _OWNER + _EXPIRY, _EXPIRY),
    Mutant("V23", "nothing but a reset token sets a password", _PASSWORDS, _RESET, _RESET_BY_ANYTHING),
    Mutant(
        "V23",
        "the mail cannot be left out",
        _PASSWORDS,
        "    if not token:\n        _refuse_token(ctx, None)\n    new_password",
        '    if not token:\n        return await users.lock_by_email(ctx, "ada@example.com")\n    new_password',
    ),
    Mutant(
        "V23",
        "changing the password asks for the old one",
        _PASSWORDS,
        "    stored = await _check_current(ctx, current)\n",
        "    stored = await (_check_current(ctx, current) if current else _stored(ctx))\n",
    ),
    Mutant("V25", "the answer does not hold the code", "handlers/two_factor.py", _SEND, _SEND_AND_TELL),
    Mutant(
        "V27",
        "of two cookies that differ none counts",
        _HEAD,
        "if len(values) == 1 else MALFORMED",
        "if values else MALFORMED",
    ),
    Mutant(
        "V27",
        "of two Cookie headers none is left out",
        _HEAD,
        '            sent = b";".join(self.every(b"cookie"))\n',
        "            pass\n",
    ),
    Mutant(
        "V27",
        "a broken cookie is text, whatever its bytes",
        _HEAD,
        'values.pop().decode("latin-1")',
        'values.pop().decode("utf-8")',
    ),
    Mutant(
        "V27",
        "a cookie that is no session is cleared",
        _SECURITY,
        "            request.cookies += self.forget\n        if not self.optional",
        "            pass\n        if not self.optional",
    ),
    Mutant(
        "V27",
        "without a session nobody gets in",
        _SECURITY,
        "        if not self.optional:\n            raise errors.Unauthenticated\n",
        "",
    ),
    Mutant(
        "V27",
        "a broken cookie hides no other",
        _HEAD,
        "        values = set()\n",
        '        if b"%" in sent:\n            return MALFORMED\n        values = set()\n',
    ),
    Mutant(
        "V28",
        "a malformed header is not left aside for the cookie",
        _HEAD,
        _SCHEME,
        "        return None if scheme else MALFORMED",
    ),
    Mutant(
        "V28",
        "a header of any bytes is read",
        _HEAD,
        "        scheme = _SCHEME.fullmatch(value)\n",
        '        scheme = _SCHEME.fullmatch(value.decode("ascii").encode())\n',
    ),
    Mutant(
        "V28",
        "of two headers none counts",
        _HEAD,
        '        if self.repeated and not self.occurs_once(b"authorization"):\n            return MALFORMED\n',
        "",
    ),
    Mutant(
        "V28",
        "the scheme is known in any case",
        _HEAD,
        '_BEARER = re.compile(rb"bearer +([A-Za-z0-9_]+)", re.IGNORECASE)',
        '_BEARER = re.compile(rb"Bearer +([A-Za-z0-9_]+)")',
    ),
    Mutant("V28", "another scheme is left aside", _HEAD, _SCHEME, "        return MALFORMED"),
    Mutant(
        "V28",
        "headers have a largest size",
        "server/pipeline/sizes.py",
        "    if head.size() > MAX_HEADERS:\n        raise errors.HeadersTooLarge\n",
        "",
    ),
    Mutant(
        "V28",
        "a token in another header is none",
        _SECURITY,
        _TOKEN,
        f'        token = token or request.head.fields.get(b"x-auth-token", b"").decode()\n{_TOKEN}',
    ),
    Mutant(
        "V29",
        "a token that is looked at serves one purpose",
        _GRANTS,
        "found is None or found[0].purpose != purpose or found[0].expires_at <= ctx.now",
        "found is None or found[0].expires_at <= ctx.now",
    ),
    Mutant("V29", "a token is used up for its purpose", _GRANTS, _PURPOSE + _OWNER, _OWNER),
    Mutant(
        "V29",
        "a token is used up for what it is, not for whose it is",
        _GRANTS,
        "        col(Grant.digest) == secrets.digest(token),\n",
        "",
    ),
    Mutant(
        "V29",
        "a token is compared as it is",
        "domain/secrets.py",
        "hashlib.sha256(secret.encode())",
        "hashlib.sha256(secret.lower().encode())",
    ),
    Mutant(
        "V30",
        "sign-up takes the fields it offers",
        "handlers/authentication.py",
        "    user, opened = await authentication.sign_up(ctx, _wanted_user(body))\n",
        "    user, opened = await authentication.sign_up(ctx, _wanted_user(body))\n"
        '    if "role" in body:\n'
        '        changing = authentication.users.change_user("role", "updated_at")\n'
        '        await ctx.db.run(changing, whose=user.id, role=body["role"], updated_at=ctx.now)\n',
    ),
    Mutant(
        "V30",
        "a new address is nobody's until it is proven",
        _AUTHENTICATION,
        "        email_verified=False,\n        image=wanted.image",
        "        email_verified=True,\n        image=wanted.image",
    ),
    Mutant(
        "V30",
        "update-user takes the fields it offers",
        _HANDLERS,
        _CHANGES,
        f'{_CHANGES}    changes |= {{"role": body["is_admin"] and "admin"}} if "is_admin" in body else {{}}\n',
    ),
    Mutant(
        "V30",
        "update-user refuses what only the service sets",
        _HANDLERS,
        "        if key in body:\n            raise errors.FieldNotAllowed",
        '        if key in body and key != "role":\n            raise errors.FieldNotAllowed',
    ),
    Mutant(
        "V30",
        "update-user leaves the address alone",
        _HANDLERS,
        '    if "email" in body:\n        raise errors.EmailCanNotBeUpdated\n',
        "",
    ),
    Mutant(
        "V27",
        "no other provider takes the place of an unknown one",
        "domain/proving.py",
        "    provider = ctx.providers.get(provider_id)\n",
        "    provider = ctx.providers.get(provider_id) or next(iter(ctx.providers.values()), None)\n",
    ),
    Mutant(
        "V32",
        "a provider finds users by an address they have proven",
        "domain/social.py",
        "    expected = owner.email_verified or not rules.require_local_verified\n",
        "    expected = True\n",
    ),
    Mutant(
        "V32",
        "a provider finds users by an address it vouches for",
        "domain/social.py",
        "    proven = identity.email_verified or identity.provider_id in rules.trusted_providers\n",
        "    proven = True\n",
    ),
    Mutant(
        "V32",
        "what a provider does not vouch for is not linked",
        "domain/linking.py",
        "    if not rules.enabled or not (identity.email_verified or identity.provider_id in rules.trusted_providers):",
        "    if not rules.enabled:",
    ),
    Mutant(
        "V32",
        "a new user's address is proven where the provider says so",
        "domain/social.py",
        "        email_verified=identity.email_verified,\n",
        "        email_verified=True,\n",
    ),
    Mutant("V32", "codes go to a proven address only", _TWO_FACTOR, _PROVEN, _UNPROVEN),
    Mutant(
        "V32",
        "a new address is unproven",
        _EMAILS,
        "_set_address(ctx, user, address, verified=False)",
        "_set_address(ctx, user, address, verified=True)",
    ),
    Mutant(
        "V32",
        "a proven address waits for the proof of the next",
        _EMAILS,
        "    at_once = not user.email_verified and ",
        "    at_once = ",
    ),
    Mutant(
        "V32",
        "where proof is required nobody gets in without",
        _AUTHENTICATION,
        "        raise errors.EmailNotVerified\n",
        "        pass\n",
    ),
    Mutant(
        "V32",
        "where proof is required signing up opens no session",
        _AUTHENTICATION,
        "return ctx.policy.sign_up_auto_sign_in and not ctx.policy.verification_required",
        "return ctx.policy.sign_up_auto_sign_in",
    ),
    Mutant(
        "V32",
        "with a session only one's own address is verified",
        _EMAILS,
        "        raise errors.EmailMismatch\n",
        "        pass\n",
    ),
    Mutant(
        "V33",
        "a ban ends a session",
        "server/requests.py",
        "if session.is_active(now) and not user.is_banned(now):",
        "if session.is_active(now):",
    ),
    Mutant("V33", "the gate stops the banned", _AUTHENTICATION, _BANNED, ""),
    Mutant(
        "V33",
        "the second step stops the banned",
        "domain/challenges.py",
        _BANNED.replace("wanted.method", "None"),
        "",
    ),
    Mutant(
        "V33",
        "a ban that has ended stops no second step",
        "domain/challenges.py",
        "    if user.is_banned(ctx.now):\n",
        "    if user.banned:\n",
    ),
    Mutant(
        "V33",
        "a ban that has ended ends no session",
        "server/requests.py",
        "if session.is_active(now) and not user.is_banned(now):",
        "if session.is_active(now) and not user.banned:",
    ),
    Mutant(
        "V33",
        "a ban ends what was begun at a provider",
        "models/commands.py",
        '        or_(~col(User.banned), col(User.ban_expires) <= bindparam("now", type_=Instant())),\n',
        "",
    ),
    Mutant("V33", "a ban that has ended is none", "models/user.py", _BAN, "return banned"),
    Mutant("V33", "a ban holds to its end", "models/user.py", _BAN, "return banned and expires is None"),
    Mutant(
        "V33",
        "a ban that has ended is lifted",
        _AUTHENTICATION,
        "        lift_ban(ctx, row)\n",
        "        pass\n",
    ),
)
