"""What schemathesis cannot guess about sign-in through a provider: which providers there are, states, codes, ID tokens.

The environment says where the provider is: `PROVIDER` is its issuer. Only requests that keep the contract are filled
in, every other turn or so: what was generated is tried as well.
"""

import os
from collections.abc import Callable
from itertools import count
from typing import Any

import httpx
import schemathesis

from tests.contract.client import AUTHORIZATION
from tests.live import TIMEOUT

ISSUER = os.environ["PROVIDER"]
Case = schemathesis.Case[Any]
_turns = count()
_provider = httpx.Client(trust_env=False, timeout=TIMEOUT)
"""One for all: each client that is made reads all certificates of this machine anew."""


class Visitor:
    """A browser that goes to the provider and comes back, as somebody new each time."""

    def __init__(self, service: httpx.Client) -> None:
        self._service = service
        self._numbers = count()

    def come_back(self, provider: str) -> tuple[dict[str, str], dict[str, str]]:
        """Begin to sign in and visit the provider; give the parameters and the cookies of the callback."""
        body = {"provider": provider, "loginHint": f"visitor-{next(self._numbers)}@example.com"}
        return self._visit(self._service.post("/sign-in/social", json=body))

    def link(self, case: Case) -> None:
        """Link an account of the provider to the caller of a request, so that there are tokens to be had."""
        headers = {name: value for name, value in case.headers.items() if name == "Authorization"}
        if any(value != value.strip() for value in headers.values()):
            return  # A generated value that no client sends; nobody is called by it.
        jar = "; ".join(f"{name}={value}" for name, value in case.cookies.items())
        session = self._service.get("/get-session", headers={**headers, "Cookie": jar})
        if session.status_code != 200:
            return
        body = {"provider": "test", "loginHint": session.json()["user"]["email"]}
        parameters, cookies = self._visit(
            self._service.post("/link-social", json=body, headers={**headers, "Cookie": jar})
        )
        bound = "; ".join(f"{name}={value}" for name, value in cookies.items())
        answer = self._service.get("/callback/test", params=parameters, headers={"Cookie": bound})
        assert "error=" not in answer.headers["location"], answer.headers["location"]

    def _visit(self, answer: httpx.Response) -> tuple[dict[str, str], dict[str, str]]:
        cookies = dict(answer.raise_for_status().cookies)
        self._service.cookies.clear()
        led = _provider.get(answer.json()["url"]).headers["location"]
        return dict(httpx.URL(led).params), cookies


def id_token() -> str:
    """Return an ID token of the provider for somebody new."""
    number = next(_turns)
    claims = {"sub": f"direct-{number}", "email": f"direct-{number}@example.com"}
    answer = _provider.post(f"{ISSUER}/control/mint", json={"claims": claims}).raise_for_status()
    return str(answer.json()["id_token"])


def fill_in(case: Case, visitor: Visitor) -> None:
    """Put into a request that keeps the contract what only somebody can know who has been at the provider."""
    filling = _FILLINGS.get(case.operation.definition.raw["operationId"])
    if filling is not None and case.meta is not None and case.meta.generation.mode.is_positive:
        filling(case, visitor, next(_turns) % 4)


def _choose(case: Case, visitor: Visitor, turn: int) -> None:
    """Name a provider that exists, and bring an ID token half of the times."""
    if isinstance(case.body, dict) and turn:
        case.body["provider"] = ("test", "plain")[turn % 2]
        case.body.pop("idToken", None)
        if turn == 3:
            case.body |= {"provider": "test", "idToken": id_token()}


def _come_back(case: Case, visitor: Visitor, turn: int) -> None:
    """Come back from a provider: with all that belongs to it, or with a state and whatever was generated beside it."""
    if not turn:
        return
    provider = ("test", "plain")[turn % 2]
    parameters, cookies = visitor.come_back(provider)
    case.path_parameters = {"provider": provider}
    case.query = parameters if turn < 3 else {**case.query, "state": parameters["state"]}
    case.cookies = cookies


def _post_back(case: Case, visitor: Visitor, turn: int) -> None:
    if isinstance(case.body, dict) and turn:
        case.path_parameters = {"provider": "test"}
        case.body |= visitor.come_back("test")[0]


def _own_account(case: Case, visitor: Visitor, turn: int) -> None:
    """Mean an account that the caller has linked just now."""
    if isinstance(case.body, dict) and turn:
        for name in ("accountId", "userId"):
            case.body.pop(name, None)
        case.body["providerId"] = ("test", "credential")[turn == 3]
        visitor.link(case)


def _own_profile(case: Case, visitor: Visitor, turn: int) -> None:
    if turn:
        case.query = {"providerId": "test"}
        visitor.link(case)


def _as_shop(case: Case, visitor: Visitor, turn: int) -> None:
    """Ask for an authorization as the client that the service knows, with the generated rest."""
    parameters = case.query if case.operation.method.upper() == "GET" else case.body
    if isinstance(parameters, dict) and turn:
        known = {"response_type": "code", "code_challenge_method": "S256", **AUTHORIZATION}
        parameters |= known if turn == 3 else {name: known[name] for name in ("client_id", "redirect_uri")}
        parameters.pop("request_uri", None)


_FILLINGS: dict[str, Callable[[Case, Visitor, int], None]] = {
    "oauth_authorize": _as_shop,
    "oauth_authorize_by_post": _as_shop,
    "oauth_push_request": _as_shop,
    "social_sign_in": _choose,
    "social_link": _choose,
    "social_receive_callback": _come_back,
    "social_relay_callback": _post_back,
    "accounts_unlink": _own_account,
    "social_refresh_token": _own_account,
    "social_get_access_token": _own_account,
    "social_get_profile": _own_profile,
}
