"""A refusal as the last answer of a connection, in the application's place."""

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from domain import errors, secrets
from handlers.reply import Header
from server.errors import CLOSE, render_refusal
from server.pipeline.answers import ALWAYS


def written(refusal: errors.Refusal, default_headers: list[Header]) -> bytes:
    """Give the whole response, head and body."""
    status, headers, body = render_refusal(refusal)
    lines = [
        *default_headers,
        *ALWAYS,
        (b"x-request-id", secrets.identifier().encode()),
        *(header for header in headers if header != CLOSE),
        (b"content-length", b"%d" % len(body)),
        CLOSE,
    ]
    head = b"".join(b"%s: %s\r\n" % header for header in lines)
    return b"%s%s\r\n%s" % (STATUS_LINE[status], head, body)
