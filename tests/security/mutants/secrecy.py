"""Mutants of the rows V31, V86 and V87: secrets in answers, in the log, in the database."""

from tests.security.mutants.mutant import Mutant

_FLOW = "        payload=ctx.cipher.encrypt(PAYLOAD, json.dumps(asdict(flow))),\n"
_ACCOUNT = '        "scopes": row.scopes,\n        "createdAt"'

MUTANTS = (
    Mutant(
        "V31",
        "the list of accounts has no tokens",
        "handlers/wire.py",
        _ACCOUNT,
        f'        "accessToken": None,\n{_ACCOUNT}',
    ),
    Mutant(
        "V31",
        "a provider's profile does not hold what it was asked with",
        "domain/provider_tokens.py",
        "    return Profile(opened.account, identity)",
        '    told = {**identity.profile, "x": opened.access_token}\n'
        "    return Profile(opened.account, replace(identity, profile=told))",
    ),
    Mutant(
        "V31",
        "the verifier stays within",
        "server/providers/messages.py",
        '        more["code_challenge"] = create_s256_code_challenge(question.verifier)\n',
        '        more["code_challenge"] = create_s256_code_challenge(question.verifier)\n'
        '        more["code_verifier"] = question.verifier\n',
    ),
    Mutant(
        "V86",
        "queries are masked",
        "server/access_log.py",
        'mask_query(query.decode("latin-1"))',
        'query.decode("latin-1")',
    ),
    Mutant(
        "V86",
        "paths that nobody expected are masked",
        "server/pipeline/pipeline.py",
        'mask_path(scope["path"], self._routes.words)',
        'scope["path"]',
    ),
    Mutant(
        "V86",
        "what a provider was asked with is not written down",
        "server/providers/client.py",
        "status=reply.status, error=error)",
        "status=reply.status, error=error, form=form)",
    ),
    Mutant(
        "V87",
        "session tokens are kept as digests",
        "domain/sessions.py",
        "        user_agent=ctx.client.user_agent,\n",
        "        user_agent=token,\n",
    ),
    Mutant(
        "V87",
        "access tokens of providers are encrypted",
        "domain/accounts.py",
        "ctx.cipher.encrypt(ACCESS_TOKEN, tokens.access_token)",
        'ctx.cipher.encrypt(ACCESS_TOKEN, tokens.access_token) + b" " + tokens.access_token.encode()',
    ),
    Mutant(
        "V87",
        "refresh tokens of providers are encrypted",
        "domain/accounts.py",
        "ctx.cipher.encrypt(REFRESH_TOKEN, tokens.refresh_token)",
        'ctx.cipher.encrypt(REFRESH_TOKEN, tokens.refresh_token) + b" " + tokens.refresh_token.encode()',
    ),
    Mutant(
        "V87",
        "ID tokens are encrypted",
        "domain/accounts.py",
        "ctx.cipher.encrypt(ID_TOKEN, tokens.id_token)",
        'ctx.cipher.encrypt(ID_TOKEN, tokens.id_token) + b" " + tokens.id_token.encode()',
    ),
    Mutant(
        "V87",
        "a flow's verifier is encrypted",
        "domain/flows.py",
        _FLOW,
        f"{_FLOW}        email=flow.verifier,\n",
    ),
    Mutant(
        "V87",
        "a flow's state is kept as a digest",
        "domain/flows.py",
        _FLOW,
        f"{_FLOW}        email=state,\n",
    ),
    Mutant(
        "V87",
        "what waits to be mailed is encrypted",
        "domain/outbox.py",
        "        payload=ctx.cipher.encrypt(PURPOSE, json.dumps(payload)),\n",
        "        payload=ctx.cipher.encrypt(PURPOSE, json.dumps(payload)),\n"
        "        last_error=json.dumps(payload),\n",
    ),
)
