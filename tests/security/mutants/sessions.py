"""Mutants of the rows V35 to V38 and V40 to V42: sessions."""

from tests.security.mutants.mutant import Mutant

_FIND = "        found = await sessions.stored(self._means.reads, token)\n"
_CACHED = (
    "        seen = globals().setdefault('SEEN', {})\n"
    "        found = seen[token] = seen.get(token) or await sessions.stored(self._means.reads, token)\n"
)
_REVOKED = "await ctx.db.run(END_SESSION, id=session_id, user_id=caller.user.id, now=ctx.now)"
_END_ALL = "    ended = await end_all(ctx, user)\n    audit"
_OTHERS = "_delete(ctx, col(Session.user_id) == caller.user.id, col(Session.id) != caller.session.id)"
_SEEN = {
    "the password": '_is(Account.password, "password"),',
    "the proof of the address": '_is(User.email_verified, "email_verified"),',
    "the second factor": '_is(User.two_factor_enabled, "two_factor_enabled"),',
    "a ban": '_is(User.banned, "banned"),',
    "the end of a ban": 'col(User.ban_expires).is_not_distinct_from(bindparam("ban_expires", type_=Instant())),',
}
"""What a sign-in goes by, and where that is demanded to be as it was seen."""

MUTANTS = (
    Mutant(
        "V35",
        "sign-out deletes the session",
        "domain/sessions.py",
        "    ctx.db.file(END_SESSION, id=caller.session.id, user_id=caller.user.id, now=ctx.now)\n",
        "",
    ),
    Mutant(
        "V35",
        "revoking a session deletes it",
        "domain/sessions.py",
        f"    if {_REVOKED}:\n        audit.session_revoked",
        "    if True:\n        audit.session_revoked",
    ),
    Mutant(
        "V35",
        "revoking all deletes all",
        "domain/sessions.py",
        _END_ALL,
        "    ended = 1\n    audit",
    ),
    Mutant(
        "V35",
        "revoking the others deletes them",
        "domain/sessions.py",
        f"    ended = await {_OTHERS}\n",
        "    ended = 1\n",
    ),
    Mutant(
        "V35",
        "revoking the others leaves the current one",
        "domain/sessions.py",
        _OTHERS,
        "_delete(ctx, col(Session.user_id) == caller.user.id)",
    ),
    Mutant(
        "V35",
        "a reset ends every session",
        "domain/passwords.py",
        "    ended = await sessions.end_all(ctx, user) if ctx.policy.reset_revokes_sessions else 0\n",
        "    ended = 0\n",
    ),
    Mutant(
        "V35",
        "a changed password ends every session when asked to",
        "domain/passwords.py",
        "    audit.sessions_revoked_all(ctx, user.id, await sessions.end_all(ctx, user))\n",
        "    audit.sessions_revoked_all(ctx, user.id, 1)\n",
    ),
    Mutant(
        "V35",
        "sessions go with their user",
        "domain/deletion.py",
        "    await ctx.db.execute(delete(User).where(col(User.id) == user.id))",
        '    user.email = f"{user.id}@deleted.example.com"',
    ),
    Mutant("V35", "no cache of sessions exists", "server/requests.py", _FIND, _CACHED),
    Mutant(
        "V35",
        "an ended session is not brought back by its extension",
        "domain/sessions.py",
        "    statement = delete(Session).where(*conditions)",
        "    from datetime import timedelta\n"
        "    statement = update(Session).where(*conditions).values(expires_at=ctx.now + timedelta(days=1))",
    ),
    Mutant("V36", "no cache of sessions exists", "server/requests.py", _FIND, _CACHED),
    Mutant(
        "V36",
        "what belongs to a user goes with them",
        "domain/deletion.py",
        "    await ctx.db.execute(delete(User).where(col(User.id) == user.id))",
        '    user.email = f"{user.id}@deleted.example.com"\n    await sessions_end(ctx, user)\n\n\n'
        "async def sessions_end(ctx: Context, user: User) -> None:\n"
        "    from domain import sessions\n    await sessions.end_all(ctx, user)",
    ),
    Mutant(
        "V36",
        "a session without its user is none",
        "domain/deletion.py",
        "    await ctx.db.execute(delete(User).where(col(User.id) == user.id))",
        '    user.username = None\n    user.email = f"{user.id}@deleted.example.com"',
    ),
    Mutant(
        "V37",
        "every session is listed",
        "domain/sessions.py",
        "for row in rows if row.is_active(ctx.now)]",
        "for row in rows if row.is_active(ctx.now) and row.remembered]",
    ),
    Mutant(
        "V37",
        "a revoked session is gone, and counted",
        "domain/sessions.py",
        _END_ALL,
        "    ended = await end_all(ctx, user) - 1\n    audit",
    ),
    *(
        Mutant("V37", f"a sign-in looks again at {what}", "models/commands.py", f"        {line}\n", "")
        for what, line in _SEEN.items()
    ),
    Mutant(
        "V37",
        "a sign-in looks again at all",
        "domain/authentication.py",
        "    users.demand_as_seen(ctx, found)\n",
        "",
    ),
    Mutant(
        "V38",
        "a session is found by its whole token",
        "server/requests.py",
        _FIND,
        "        seen = globals().setdefault('SEEN', {})\n"
        "        found = seen.setdefault(token[0], await sessions.stored(self._means.reads, token))\n",
    ),
    Mutant(
        "V38",
        "a sign-in replaces the cookie",
        "handlers/handover.py",
        '    return Reply(body, (cookie, (b"set-auth-token"',
        '    return Reply(body, ((b"set-auth-token"',
    ),
    Mutant(
        "V38",
        "a sign-out ends the session of the browser",
        "domain/sessions.py",
        "    ctx.db.file(END_SESSION, id=caller.session.id,",
        "    ctx.db.file(END_SESSION, id=caller.user.id,",
    ),
    Mutant(
        "V40",
        "tokens are not listed",
        "domain/sessions.py",
        "    copy = row.token_copy if ctx.policy.session.list_tokens else None\n",
        "    copy = row.token_copy\n",
    ),
    Mutant(
        "V40",
        "no copy is kept",
        "domain/sessions.py",
        "        token_copy=ctx.cipher.encrypt(COPY, token) if rules.list_tokens else None,\n",
        "        token_copy=ctx.cipher.encrypt(COPY, token),\n",
    ),
    Mutant(
        "V40",
        "a handle works for its owner alone",
        "models/commands.py",
        '        _is(Session.id, "id"),\n        _is(Session.user_id, "user_id"),\n',
        '        _is(Session.id, "id"),\n',
    ),
    Mutant(
        "V41",
        "a cookie is found by its whole name",
        "server/pipeline/head.py",
        'if key.strip(b" \\t") == name:',
        'if name.endswith(key.strip(b" \\t")):',
    ),
    Mutant(
        "V41",
        "the case of a cookie's name counts",
        "server/pipeline/head.py",
        "        if sent.find(name) < 0:\n            return None\n        values = set()\n"
        '        for pair in sent.split(b";"):\n            key, _, value = pair.partition(b"=")\n'
        '            if key.strip(b" \\t") == name:',
        '        values = set()\n        for pair in sent.split(b";"):\n'
        '            key, _, value = pair.partition(b"=")\n'
        '            if key.strip(b" \\t").lower() == name.lower():',
    ),
    Mutant(
        "V41",
        "two cookies that differ are none",
        "server/pipeline/head.py",
        '        return values.pop().decode("latin-1") if len(values) == 1 else MALFORMED',
        '        return max(values).decode("latin-1")',
    ),
    Mutant(
        "V41",
        "the configured name is the one that is read",
        "server/pipeline/security.py",
        "        return ForSessions(self._sessions, self._policy.session_name.encode(), forget, optional)",
        '        return ForSessions(self._sessions, b"service.session-token", forget, optional)',
    ),
    Mutant(
        "V42",
        "no answer is stored",
        "server/pipeline/answers.py",
        '    (b"cache-control", b"no-store"),\n',
        '    (b"cache-control", b"private"),\n',
    ),
    Mutant(
        "V42",
        "an answer sets a cookie once",
        "server/pipeline/answers.py",
        "for name, header in added.items() if name not in taken)",
        "for name, header in added.items())",
    ),
)
