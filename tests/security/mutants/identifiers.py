"""Mutants of the rows V75 to V85 and V88: identifiers, mails, mailed tokens, errors."""

from tests.security.mutants.mutant import Mutant

_CONTRACT = "openapi/components/schemas.yaml"
_ADDRESS = (
    "      format: email\n      maxLength: 254\n      pattern: >-\n"
    "        ^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@"
    "(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$\n"
    "      allOf: # The local part has 1 to 64 characters, the last label is no number; nothing is like `=?…?=`.\n"
    "        - type: string\n          pattern: '^[^@]{1,64}@(?:[^.]+\\.)+[0-9]*[A-Za-z-][A-Za-z0-9-]*$'\n"
    "        - type: string\n          pattern: '^(?:[^=]|=+[^=?])*(?:=+\\?(?:[^?]|\\?+[^?=])*\\?*|=*)$'\n"
)
_NAME = "      pattern: '^[^\\u0000-\\u001F\\u007F-\\u009F\\u2028-\\u202E\\u2066-\\u2069]*$'\n"
_CONSUME = (
    "        col(Grant.digest) == secrets.digest(token),\n"
    "        col(Grant.purpose) == purpose,\n"
    "        col(Grant.user_id) == user_id,\n"
    "        col(Grant.expires_at) > ctx.now,\n"
)
_FIND_LIVE = "    if found is None or found[0].purpose != purpose or found[0].expires_at <= ctx.now:\n"

MUTANTS = (
    Mutant("V75", "addresses are ASCII", _CONTRACT, _ADDRESS, "      pattern: '^[^@]+@[^@]+$'\n"),
    Mutant(
        "V75",
        "usernames are ASCII",
        "domain/identifiers.py",
        "    if not _USERNAME_CHARACTERS.issuperset(text):",
        '    if not _USERNAME_CHARACTERS.issuperset(__import__("unicodedata").normalize("NFKC", text)):',
    ),
    Mutant(
        "V75",
        "a typed address is compared in lower case",
        "domain/passwords.py",
        "    mails.file_reset_request(ctx, email.lower(), redirect_to)",
        "    mails.file_reset_request(ctx, email, redirect_to)",
    ),
    Mutant(
        "V76",
        "addresses have no invisible characters",
        _CONTRACT,
        _ADDRESS,
        "      pattern: '^[^@\\x00-\\x20]+@[^@\\x00-\\x20]+$'\n",
    ),
    Mutant("V76", "names steer no display", _CONTRACT, _NAME, ""),
    Mutant(
        "V76",
        "mails show no invisible characters",
        "server/rendering.py",
        'for c in " ".join(text.split()) if c.isprintable() or c in _JOINERS)',
        'for c in " ".join(text.split()))',
    ),
    Mutant(
        "V77",
        "addresses are stored in lower case",
        "domain/authentication.py",
        "        email=wanted.email.lower(),\n",
        "        email=wanted.email,\n",
    ),
    Mutant(
        "V77",
        "addresses are looked for in lower case",
        "domain/identifiers.py",
        "        raise InvalidEmail\n    return text.lower()",
        "        raise InvalidEmail\n    return text",
    ),
    Mutant(
        "V77",
        "an address to move to is compared in lower case",
        "domain/emails.py",
        "    policy, address = ctx.policy, new_email.lower()\n",
        "    policy, address = ctx.policy, new_email\n",
    ),
    Mutant(
        "V77",
        "usernames are compared in lower case",
        "domain/identifiers.py",
        "        raise invalid\n    return text.lower()",
        "        raise invalid\n    return text",
    ),
    Mutant(
        "V78",
        "an address is one address",
        _CONTRACT,
        _ADDRESS,
        "      pattern: '@'\n",
    ),
    Mutant(
        "V78",
        "an address holds no encoded word",
        _CONTRACT,
        "        - type: string\n          pattern: '^(?:[^=]|=+[^=?])*(?:=+\\?(?:[^?]|\\?+[^?=])*\\?*|=*)$'\n",
        "",
    ),
    Mutant(
        "V78",
        "an address to sign in with holds no encoded word",
        "domain/identifiers.py",
        " or ENCODED_WORD.search(text)",
        "",
    ),
    Mutant(
        "V78",
        "the envelope has one recipient",
        "server/mail_smtp.py",
        "sender=parseaddr(mail.sender)[1], recipients=[mail.to])",
        "sender=parseaddr(mail.sender)[1], recipients=[mail.to, parseaddr(mail.sender)[1]])",
    ),
    Mutant(
        "V78",
        "a notice goes to the stored address",
        "domain/mails.py",
        '        _file(ctx, "password-changed", user)\n',
        '        _file(ctx, "password-changed", user, to="eve@example.com")\n',
    ),
    Mutant("V79", "names have no line breaks", _CONTRACT, _NAME, ""),
    Mutant(
        "V79",
        "names are one line in mails",
        "server/rendering.py",
        '    return "".join(c for c in " ".join(text.split()) if c.isprintable() or c in _JOINERS)',
        "    return text",
    ),
    Mutant(
        "V79",
        "a mail has the headers the service writes and no other",
        "server/mail_smtp.py",
        '    message["Auto-Submitted"] = "auto-generated"\n',
        '    message["Auto-Submitted"] = "auto-generated"\n    message["Cc"] = mail.to\n',
    ),
    Mutant(
        "V79",
        "a User-Agent has no control characters",
        "server/addresses.py",
        'return _CONTROL.sub("", raw.decode("utf-8", "replace"))',
        'return raw.decode("utf-8", "replace")',
    ),
    Mutant(
        "V80",
        "what users typed is escaped in HTML",
        "server/rendering.py",
        '        autoescape=lambda name: name is None or not name.endswith(".txt"),\n',
        "        autoescape=False,\n",
    ),
    Mutant(
        "V80",
        "a name is no template",
        "server/rendering.py",
        '            "name": shown_name(payload.get("name") or ""),\n',
        '            "name": Environment().from_string(shown_name(payload.get("name") or "")).render(config="49"),\n',
    ),
    Mutant(
        "V80",
        "mail programs make no link of a name",
        "server/rendering.py",
        "    return _LINK_LIKE.sub(_WORD_JOINER, cut)",
        "    return cut",
    ),
    Mutant(
        "V80",
        "a stranger's name is not mailed to the owner of an address",
        "domain/authentication.py",
        "        mails.existing_account(ctx, owner)\n",
        "        mails.existing_account(ctx, owner._replace(name=invented.name))\n",
    ),
    Mutant(
        "V81",
        "the error page escapes",
        "handlers/pages.py",
        "    autoescape=True,\n",
        "    autoescape=False,\n",
    ),
    Mutant(
        "V81",
        "an error that is no word is not shown",
        "handlers/service.py",
        "    code = error if error is not None and _SHOWN.fullmatch(error) else",
        "    code = error if error is not None else",
    ),
    Mutant(
        "V81",
        "nothing on the error page runs or is framed",
        "handlers/pages.py",
        "default-src 'none'; frame-ancestors 'none'",
        "default-src 'self'",
    ),
    Mutant(
        "V82",
        "resets die with the password",
        "domain/passwords.py",
        "DIES_WITH_PASSWORD = (\n    Purpose.RESET,\n",
        "DIES_WITH_PASSWORD = (\n",
    ),
    Mutant(
        "V82",
        "verification links die with the address",
        "domain/emails.py",
        "DIES_WITH_ADDRESS = (Purpose.RESET, Purpose.VERIFY, ",
        "DIES_WITH_ADDRESS = (Purpose.RESET, ",
    ),
    Mutant(
        "V82",
        "resets die with the address",
        "domain/emails.py",
        "DIES_WITH_ADDRESS = (Purpose.RESET, ",
        "DIES_WITH_ADDRESS = (",
    ),
    Mutant(
        "V82",
        "deletion links die with the address",
        "domain/emails.py",
        "Purpose.CHANGE_EMAIL, Purpose.DELETE, Purpose.MAIL_CODE)",
        "Purpose.CHANGE_EMAIL, Purpose.MAIL_CODE)",
    ),
    Mutant(
        "V82",
        "a newer link to move kills the older",
        "domain/emails.py",
        "    await grants.revoke(ctx, user.id, Purpose.CHANGE_EMAIL)\n",
        "",
    ),
    Mutant(
        "V82",
        "a reset token has an end",
        "domain/grants.py",
        _FIND_LIVE,
        "    if found is None or found[0].purpose != purpose:\n",
    ),
    Mutant(
        "V82",
        "a verification link has an end",
        "domain/emails.py",
        "    if grant.expires_at <= ctx.now:\n        raise errors.TokenExpired\n",
        "",
    ),
    Mutant(
        "V83",
        "a reset token is used up by one statement",
        "domain/passwords.py",
        "    if user is None or not await grants.consume(ctx, Purpose.RESET, user.id, token):\n",
        "    if user is None:\n",
    ),
    Mutant(
        "V84",
        "a refused password burns no token",
        "domain/passwords.py",
        "    new_password.check_length(ctx.policy.password, new)\n    found =",
        "    async def burn(other: Context) -> None:\n"
        "        row = await grants.find_live(other, Purpose.RESET, token or '')\n"
        "        if row is not None and len(new) < 8:\n"
        "            await grants.consume(other, Purpose.RESET, row[1].id, token or '')\n\n"
        "    await ctx.apart(burn)\n"
        "    new_password.check_length(ctx.policy.password, new)\n    found =",
    ),
    Mutant(
        "V84",
        "a page of another origin burns no token",
        "server/pipeline/pipeline.py",
        "        if operation.checks_origin and (by_cookie or not request.head.has_bearer()):",
        "        if False:",
    ),
    Mutant(
        "V85",
        "a link deletes its owner alone",
        "domain/grants.py",
        _CONSUME,
        _CONSUME.replace("        col(Grant.user_id) == user_id,\n", ""),
    ),
    Mutant(
        "V85",
        "a token of another purpose deletes nobody",
        "domain/grants.py",
        _CONSUME,
        _CONSUME.replace("        col(Grant.purpose) == purpose,\n", ""),
    ),
    Mutant(
        "V85",
        "the link deletes who is signed in as its owner",
        "domain/deletion.py",
        "    user = await users.lock_caller(ctx)\n    await _consume(ctx, user, token)\n",
        "    user = await users.lock_caller(ctx)\n",
    ),
    Mutant(
        "V85",
        "of many at once one deletes",
        "domain/deletion.py",
        "    user = await users.lock_caller(ctx)\n    await _consume(ctx, user, token)\n",
        "    user = await users.lock(ctx, ctx.signed_in.user.id)\n"
        "    if user is None:\n"
        "        return\n"
        "    await _consume(ctx, user, token)\n",
    ),
    Mutant(
        "V88",
        "a defect tells nothing",
        "server/errors.py",
        "    return render_refusal(errors.InternalServerError())",
        "    return render_refusal(errors.InternalServerError(str(error)[:150]))",
    ),
    Mutant(
        "V88",
        "an error has two keys",
        "server/errors.py",
        '    return orjson.dumps({"message": message, "code": code})',
        '    return orjson.dumps({"message": message, "code": code, "stack": __file__})',
    ),
    Mutant(
        "V88",
        "a complaint about a field does not repeat it",
        "server/pipeline/validation.py",
        "                found[self.name(shown)] = messages.describe(error, schema)",
        '                found[self.name(shown)] = f"{messages.describe(error, schema)}, not {value}"',
    ),
)
