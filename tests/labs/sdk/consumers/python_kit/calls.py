"""Calls: errors, retries, timeouts and pages, with a server that responds as it is told.

It prints nothing but what goes wrong.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gatewright_client.api.audit import list_events
from gatewright_client.api.authentication import sign_in_email
from gatewright_client.api.organizations import list_members
from gatewright_client.api.passwords import verify
from gatewright_client.api.sessions import list_active
from gatewright_client.kit.calls import acall, aiterate, call, connect, iterate
from gatewright_client.kit.errors import ApiError, FieldError, RateLimited, Unauthenticated, Unavailable
from gatewright_client.kit.transport import Retries
from gatewright_client.models import SignInEmailRequest, VerifyPasswordRequest

FAST = Retries(pause=0.001)
Scripted = tuple[int, dict[str, str], Any]
"""A response: its status, headers and body, which is None for a page of HTML."""

UNAVAILABLE: Scripted = (503, {}, {"message": "Service unavailable", "code": "SERVICE_UNAVAILABLE"})
PAGE_OF_PROXY: Scripted = (502, {}, None)
CLOSED: Scripted = (0, {}, None)
"""The server closes the connection without a response."""


@dataclass
class Server:
    """A server: its URL, the responses that it will send, and the requests that it has received."""

    url: str
    responses: list[Scripted] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def serving() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def handle_request(self) -> None:
            server.requests.append(self.path)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, headers, body = server.responses.pop(0)
            if not status:
                self.close_connection = True
                return
            content = b"<html>Sorry</html>" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_request  # noqa: N815

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
            """Print nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{listener.server_port}")
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield server
    listener.shutdown()
    listener.server_close()


def error_of(action: Callable[[], object]) -> ApiError:
    """Return the error that an action raises."""
    try:
        action()
    except ApiError as error:
        return error
    raise AssertionError("no error")


def errors(server: Server) -> None:
    client = connect(server.url, "token", retries=FAST)
    fields = [{"in": "body", "name": "password", "message": "is missing"}]
    body = {"message": "Invalid request", "code": "VALIDATION_ERROR", "fields": fields}
    server.responses = [(400, {"X-Request-Id": "b1946ac9"}, body)]
    request = VerifyPasswordRequest(password="")
    error = error_of(lambda: call(verify.sync_detailed, client=client, body=request))
    assert (error.status, error.code, error.request_id) == (400, "VALIDATION_ERROR", "b1946ac9")
    assert error.fields == (FieldError("body", "password", "is missing"),)
    assert str(error) == "400 VALIDATION_ERROR: Invalid request; password: is missing (request b1946ac9)"

    # A code that this client does not know is an error like any other.
    server.responses = [(401, {}, {"message": "No", "code": "NEWER_THAN_THIS_CLIENT"})]
    error = error_of(lambda: call(list_active.sync_detailed, client=client))
    assert (type(error), error.code) == (Unauthenticated, "NEWER_THAN_THIS_CLIENT")

    server.responses = [(429, {"Retry-After": "12"}, {"message": "Wait", "code": "TOO_MANY_REQUESTS"})]
    error = error_of(lambda: call(list_active.sync_detailed, client=client))
    assert (type(error), error.code, error.retry_after) == (RateLimited, "TOO_MANY_REQUESTS", 12)


def sent(server: Server, *responses: Scripted, safe: bool = True) -> tuple[int, str]:
    """Return how many requests a call has sent, and its code, or ok."""
    client = connect(server.url, "token", retries=FAST)
    server.responses, server.requests = list(responses), []
    try:
        if safe:
            call(list_active.sync_detailed, client=client)
        else:
            request = SignInEmailRequest(email="ada@example.com", password="wrong")
            call(sign_in_email.sync_detailed, client=client, body=request)
    except ApiError as error:
        return len(server.requests), error.code
    return len(server.requests), "ok"


def retries(server: Server) -> None:
    ok: Scripted = (200, {}, [])
    limited: Scripted = (429, {"Retry-After": "1"}, {"message": "Wait", "code": "TOO_MANY_REQUESTS"})
    assert sent(server, ok) == (1, "ok")
    assert sent(server, UNAVAILABLE, PAGE_OF_PROXY, ok) == (3, "ok")
    assert sent(server, CLOSED, ok) == (2, "ok")
    assert sent(server, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE) == (3, "SERVICE_UNAVAILABLE")
    assert sent(server, PAGE_OF_PROXY, PAGE_OF_PROXY, PAGE_OF_PROXY) == (3, "HTTP_502")
    assert sent(server, limited, ok) == (2, "ok")
    # A POST may have been carried out.
    assert sent(server, UNAVAILABLE, safe=False) == (1, "SERVICE_UNAVAILABLE")
    assert sent(server, CLOSED, safe=False) == (1, "SERVICE_UNAVAILABLE")
    # A page of a proxy instead of the result is no result.
    assert sent(server, (200, {}, None)) == (1, "SERVICE_UNAVAILABLE")


def timeouts() -> None:
    """A server that accepts connections and never responds costs the timeout once."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    client = connect(f"http://127.0.0.1:{listener.server_port}", "token", timeout=0.05, retries=FAST)
    error = error_of(lambda: call(list_active.sync_detailed, client=client))
    assert (type(error), error.retry_after) == (Unavailable, 5)
    listener.server_close()


def event(number: int) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("code", "userId", "actorId", "sessionId", "method", "ipAddress", "userAgent", "requestId")
    )
    time = "2026-03-09T08:15:30.250Z"
    return {
        **nothing,
        "id": str(number),
        "time": time,
        "event": "user.created",
        "outcome": "success",
        "details": {},
    }


def member(number: int) -> dict[str, Any]:
    user = {"id": str(number), "name": "Ada", "email": "ada@example.com", "image": None}
    time = "2026-03-09T08:15:30.250Z"
    return {
        "id": str(number), "organizationId": "1", "userId": "1", "role": "member", "createdAt": time, "user": user,
    }  # fmt: skip


def pages(server: Server) -> None:
    client = connect(server.url, "token", retries=FAST)
    with_cursors: list[Scripted] = [
        (200, {}, {"events": [event(1), event(2)], "nextCursor": "7.a"}),
        (200, {}, {"events": [event(3)], "nextCursor": None}),
    ]
    server.responses, server.requests = list(with_cursors), []
    found = iterate(list_events.sync_detailed, lambda page: page.events, client=client, limit=2)
    assert next(found).id == "1"
    assert len(server.requests) == 1
    assert [one.id for one in found] == ["2", "3"]
    assert server.requests == [
        "/admin/list-audit-events?limit=2",
        "/admin/list-audit-events?cursor=7.a&limit=2",
    ]

    with_total: list[Scripted] = [
        (200, {}, {"members": [member(1), member(2)], "total": 3}),
        (200, {}, {"members": [member(3)], "total": 3}),
    ]
    server.responses, server.requests = list(with_total), []
    members = iterate(list_members.sync_detailed, lambda page: page.members, client=client)
    assert [one.id for one in members] == ["1", "2", "3"]
    assert server.requests == ["/organization/list-members", "/organization/list-members?offset=2"]

    async def asynchronously() -> list[str]:
        server.responses = [*with_cursors, (200, {}, []), UNAVAILABLE, (200, {}, [])]
        client = connect(server.url, "token", retries=FAST)
        events = aiterate(list_events.asyncio_detailed, lambda page: page.events, client=client)
        ids = [one.id async for one in events]
        for _ in range(2):
            assert await acall(list_active.asyncio_detailed, client=client) == []
        return ids

    assert asyncio.run(asynchronously()) == ["1", "2", "3"]


if __name__ == "__main__":
    with serving() as server:
        errors(server)
        retries(server)
        timeouts()
        pages(server)
