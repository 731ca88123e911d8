"""Who schemathesis is while it knocks at every operation. Its command line loads this module, not pytest.

The environment says where and how: `LIVE_SERVER` is the root URL of the service, `CARRIED_BY` how the session
token travels (bearer, cookie, or nothing), or who it is: `pending`, a sign-in that waits for its second factor, or
`administrator`, in a service that runs in `SERVICE_FOLDER`. `PROVIDER` is
the issuer of the provider that the service knows as `test` and `plain`.
"""

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pyotp
import schemathesis
from hypothesis import strategies
from schemathesis.specs.openapi.coverage._schema import _FORMAT_PROBES

from codegen.walk import change_schemas
from tests.contract.client import BASIC
from tests.contract.visits import Visitor, fill_in
from tests.live import TIMEOUT, promote
from tests.settings.api_keys import VERIFIER

ROOT = os.environ["LIVE_SERVER"]
CARRIED_BY = os.environ["CARRIED_BY"]
PASSWORD = "correct horse battery"

TARGETS = ["/welcome", "/a/b?c=d", f"{ROOT}/welcome", "", "https://evil.test/", "//evil.test"]
"""Places to be redirected to, trusted and not: random text would never get past the check of them."""

schemathesis.openapi.format("redirect-target", strategies.sampled_from(TARGETS))

_FORMAT_PROBES["email"] = (
    ("ada@example.com",),
    (
        "ada",
        "ada@",
        "@example.com",
        "ada.@example.com",
        "a da@example.com",
        "ada@example..com",
        "ada@-example.com",
    ),
)
"""Whoever takes the first for an address and none of the others knows addresses: what their pattern lets through is
one. Without this, half of every run is spent looking for a text that has the contract's pattern and is no address,
which was never found; schemathesis knows by itself what to ask about dates and UUIDs only."""

OF_CLIENTS = {
    *("/oauth2/par", "/oauth2/token", "/oauth2/introspect", "/oauth2/revoke"),
    *("/device/code", "/device/token"),
}
"""Operations that clients of the OAuth provider call."""

WITHOUT_NUL = r"^[^\x00]*$"


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


_visitor = Visitor(httpx.Client(base_url=ROOT, timeout=TIMEOUT))


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    """Set up what requests about providers need to succeed."""
    fill_in(case, _visitor)
    if case.path.startswith("/account/"):
        # What a browser says of a form that a page of the service sends.
        case.headers["Sec-Fetch-Site"] = "same-origin"


class Caller:
    """A user of their own for this run, replaced whenever a request has signed them out or deleted them."""

    def __init__(self) -> None:
        self._client = httpx.Client(base_url=ROOT, timeout=TIMEOUT)
        self._token = ""

    def get(self, case: schemathesis.Case[Any], context: schemathesis.AuthContext) -> str:
        """Return the token of a live session; asked for before every request."""
        if not self._token or not self._is_live():
            self._token = self._renewed()
        return self._token

    def set(self, case: schemathesis.Case[Any], token: str, context: schemathesis.AuthContext) -> None:
        """Put the token where this run carries it; who verifies API keys has a token of another kind."""
        if case.operation.path == "/api-key/verify":
            case.headers["Authorization"] = f"Bearer {VERIFIER}"
            return
        if case.operation.path in OF_CLIENTS:
            # A Basic header beside credentials in the body would be refused before anything else is read.
            if not isinstance(case.body, dict) or "client_id" not in case.body:
                case.headers["Authorization"] = BASIC
            return
        if CARRIED_BY == "cookie":
            case.cookies["service.session-token"] = token
        else:
            case.headers["Authorization"] = f"Bearer {token}"

    def _is_live(self) -> bool:
        answer = self._client.get("/get-session", headers=_bearer(self._token))
        return answer.status_code == 200

    def _renewed(self) -> str:
        return self._sign_up(f"{secrets.token_hex(8)}@example.com")

    def _sign_up(self, email: str) -> str:
        return str(self._post("/sign-up/email", name="Ada", email=email, password=PASSWORD)["token"])

    def _post(self, path: str, token: str = "", **body: str) -> dict[str, Any]:
        headers = _bearer(token) if token else {}
        answer = self._client.post(path, json=body, headers=headers).raise_for_status()
        self._client.cookies.clear()
        shape: dict[str, Any] = answer.json()
        return shape


class PendingCaller(Caller):
    """A user with an authenticator who has entered the password only; another one when the challenge is dead."""

    def _is_live(self) -> bool:
        """Ask without a code: that is a bad request while the challenge lives, and takes no attempt."""
        answer = self._client.post("/two-factor/verify-totp", json={}, headers=_bearer(self._token))
        return answer.status_code == 400

    def _renewed(self) -> str:
        email = f"{secrets.token_hex(8)}@example.com"
        session = self._sign_up(email)
        uri = self._post("/two-factor/enable", session, password=PASSWORD)["totpURI"]
        code = pyotp.TOTP(pyotp.parse_uri(uri).secret).at(datetime.now(UTC))
        self._post("/two-factor/verify-totp", session, code=code)
        return str(self._post("/sign-in/email", email=email, password=PASSWORD)["token"])


class Administrator(Caller):
    """A user with the role `admin`; another one when the last has lost it."""

    def _is_live(self) -> bool:
        asked = {"permissions": {"user": ["set-role"]}}
        answer = self._client.post("/admin/has-permission", json=asked, headers=_bearer(self._token))
        return answer.is_success and bool(answer.json()["success"])

    def _renewed(self) -> str:
        email = f"{secrets.token_hex(8)}@example.com"
        token = self._sign_up(email)
        promote(email, Path(os.environ["SERVICE_FOLDER"]), {})
        return token


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


if CARRIED_BY != "nothing":
    special = {"pending": PendingCaller, "administrator": Administrator}
    schemathesis.auth(refresh_interval=None)(special.get(CARRIED_BY, Caller))
