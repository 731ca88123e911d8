"""A signed token, which other services accept until it expires; none of our operations does."""

import json

from joserfc import jws
from joserfc.jwk import import_key

from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject


async def _issue(subject: Subject) -> str:
    answer = await subject.get("/token", subject.caller)
    return str(answer.json()["token"])


async def _is_valid(subject: Subject, token: str) -> bool:
    keys = {key["kid"]: key for key in (await subject.get("/jwks")).json()["keys"]}
    key = import_key(keys[jws.extract_compact(token.encode()).headers()["kid"]])
    claims = json.loads(jws.deserialize_compact(token, key, algorithms=["ES256"]).payload)
    return bool(claims["sub"] == subject.id and claims["exp"] > subject.service.clock.now.timestamp())


WAYS = [Way("signed token", _issue, _is_valid, None, is_read_only=True)]
