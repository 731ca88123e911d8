"""Who schemathesis is while it knocks at every operation. Its command line loads this module, not pytest.

The environment says where and how: `LIVE_SERVER` is the root URL of the service, `CARRIED_BY` how the session
token travels (bearer, cookie, or nothing).
"""

import os
import secrets
from typing import Any

import httpx
import schemathesis
from hypothesis import strategies

from codegen.walk import change_schemas

ROOT = os.environ["LIVE_SERVER"]
CARRIED_BY = os.environ["CARRIED_BY"]
PASSWORD = "correct horse battery"

TARGETS = ["/welcome", "/a/b?c=d", f"{ROOT}/welcome", "", "https://evil.test/", "//evil.test"]
"""Places to be redirected to, trusted and not: random text would never get past the check of them."""

schemathesis.openapi.format("redirect-target", strategies.sampled_from(TARGETS))

WITHOUT_NUL = r"^[^\u0000]*$"


@schemathesis.hook
def before_load_schema(context: schemathesis.HookContext, raw_schema: dict[str, Any]) -> None:
    """Take the pattern that forbids U+0000 out of the contract: none is generated here anyway (see the .toml).

    Together with a maxLength of 65536 it becomes one expression that takes seconds to compile, in every schema.
    """
    raw_schema.update(change_schemas(raw_schema, _allow_nul))


def _allow_nul(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("pattern") == WITHOUT_NUL:
        del schema["pattern"]
    return schema


class Caller:
    """A user of their own for this run, replaced whenever a request has signed them out or deleted them."""

    def __init__(self) -> None:
        self._client = httpx.Client(base_url=ROOT)
        self._token = ""

    def get(self, case: schemathesis.Case[Any], context: schemathesis.AuthContext) -> str:
        """Give the token of a live session; asked for before every request."""
        if not self._token or not self._is_signed_in():
            self._token = self._sign_up()
        return self._token

    def set(self, case: schemathesis.Case[Any], token: str, context: schemathesis.AuthContext) -> None:
        """Put the token where this run carries it."""
        if CARRIED_BY == "bearer":
            case.headers["Authorization"] = f"Bearer {token}"
        else:
            case.cookies["service.session-token"] = token

    def _is_signed_in(self) -> bool:
        answer = self._client.get("/get-session", headers={"Authorization": f"Bearer {self._token}"})
        return answer.status_code == 200

    def _sign_up(self) -> str:
        body: dict[str, Any] = {
            "name": "Ada",
            "email": f"{secrets.token_hex(8)}@example.com",
            "password": PASSWORD,
        }
        answer = self._client.post("/sign-up/email", json=body).raise_for_status()
        self._client.cookies.clear()
        return str(answer.json()["token"])


if CARRIED_BY != "nothing":
    schemathesis.auth(refresh_interval=None)(Caller)
