"""Steps of authorization requests: arrive with one, follow its pages, read where they lead."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.conftest import Headers
from tests.oauth import REDIRECT_URI, OAuthTestClient
from tests.service import Service

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
STATE = "af0ifj sldkj"
Parameters = dict[str, str | Sequence[str]]


def parameters_of(client: OAuthTestClient, /, **changes: Any) -> Parameters:
    """Return the parameters of an authorization request with changes: one, several, or None to leave it out."""
    sent: dict[str, Any] = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": REDIRECT_URI,
        "scope": "openid email",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": STATE,
        **changes,
    }
    return {name: value for name, value in sent.items() if value is not None}


async def arrive(
    service: Service,
    client: OAuthTestClient,
    headers: Headers | None = None,
    /,
    **changes: Any,
) -> httpx.Response:
    """Come to the authorization endpoint with a request."""
    return await service.client.get(
        "/oauth2/authorize", params=parameters_of(client, **changes), headers=headers
    )


async def arrive_by_uri(
    service: Service, client: OAuthTestClient, uri: str, headers: Headers | None = None, **more: str
) -> httpx.Response:
    """Come to the authorization endpoint with the URI of a stored request."""
    sent = {"client_id": client.client_id, "request_uri": uri, **more}
    return await service.client.get("/oauth2/authorize", params=sent, headers=headers)


async def push(service: Service, client: OAuthTestClient, /, **changes: Any) -> httpx.Response:
    """Push an authorization request, with the secret of its client."""
    return await service.client.post("/oauth2/par", data={**parameters_of(client, **changes), **client.form})


def query_of(answer: httpx.Response | str) -> dict[str, str]:
    """Return the query of the URL that an answer redirects to, or of a URL; every parameter is there once."""
    url = answer if isinstance(answer, str) else answer.headers["location"]
    values = parse_qs(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert all(len(each) == 1 or name == "ba_param" for name, each in values.items())
    return {name: each[0] for name, each in values.items()}


def page_of(answer: httpx.Response) -> str:
    """Return the path of the page that an answer redirects to."""
    assert answer.status_code in (302, 303), answer.text
    return urlsplit(answer.headers["location"]).path


def handle_of(answer: httpx.Response) -> str:
    """Return the handle of the request, from a redirect to one of its pages."""
    return query_of(answer)["request"]


def uri_of(handle: str) -> str:
    """Return the URI of a stored request."""
    return f"urn:ietf:params:oauth:request_uri:{handle}"


async def consent(service: Service, handle: str, headers: Headers, /, **more: Any) -> httpx.Response:
    """Allow what a request asks for."""
    body = {"accept": True, "oauth_query": f"request={handle}", **more}
    return await service.post("/oauth2/consent", body, headers=headers)


async def allow(
    service: Service, client: OAuthTestClient, headers: Headers, /, **changes: Any
) -> httpx.Response:
    """Arrive with a request, consent to it, and continue; return the redirect to the client."""
    handle = handle_of(await arrive(service, client, headers, **changes))
    allowed = await consent(service, handle, headers)
    return await service.client.get(allowed.json()["url"], headers=headers)


def is_at_client(answer: httpx.Response, redirect_uri: str = REDIRECT_URI) -> bool:
    """Return whether an answer redirects to the client."""
    return bool(answer.headers["location"].startswith(redirect_uri + "?"))


def error_of(answer: httpx.Response) -> str | None:
    """Return the error that an answer redirects with, to the client or to our own page; None for none."""
    return query_of(answer).get("error")
