"""An application as a browser meets it: one static page, at an origin of its own, that calls Gatewright at another."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    """Answers every path with the page of its server."""

    def do_GET(self) -> None:
        """Send the page."""
        page: bytes = self.server.page  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base's
        """Log nothing."""


@contextmanager
def at_another_origin(page: str) -> Iterator[str]:
    """Serve a page on a free port of the loopback until the end of the block; gives its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.page = page.encode()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
