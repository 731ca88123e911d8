"""The smallest ASGI application: a constant of the size of a get-session answer, which no service can outrun."""

import orjson
from starlette.types import Receive, Scope, Send

_ID = "x" * 32
_INSTANT = "2026-01-01T12:00:00.000Z"

BODY = orjson.dumps(
    {
        "session": {
            "id": _ID,
            "token": _ID,
            "userId": _ID,
            "expiresAt": _INSTANT,
            "createdAt": _INSTANT,
            "updatedAt": _INSTANT,
            "ipAddress": "127.0.0.1",
            "userAgent": None,
        },
        "user": {
            "id": _ID,
            "name": "Ada Lovelace",
            "email": "reader@example.com",
            "emailVerified": False,
            "image": None,
            "createdAt": _INSTANT,
            "updatedAt": _INSTANT,
            "username": None,
            "displayUsername": None,
            "twoFactorEnabled": False,
            "role": "user",
            "banned": False,
            "banReason": None,
            "banExpires": None,
            "locale": None,
        },
    }
)

_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))],
}
_BODY = {"type": "http.response.body", "body": BODY}


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer whatever is asked with the constant."""
    if scope["type"] == "http":
        await send(_START)
        await send(_BODY)
