"""How a request begins on a connection: as with uvicorn, with less work for what all requests have in common."""

from typing import Any

from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server import heads
from server.cycle import EXTENSIONS, Cycle
from server.gathering import Gathered


class Beginning(HttpToolsProtocol):
    """A connection whose requests get a scope made after a pattern, and a cycle of ours."""

    cycle: Cycle
    transport: Gathered  # type: ignore[assignment]  # which stands before the real one

    _pattern: dict[str, Any] | None = None
    """What the scope of each request on this connection is copied from."""

    def on_message_begin(self) -> None:
        """Begin a request; what is its own comes into the scope with its head."""
        if self._pattern is None:
            super().on_message_begin()
            # Whatever else a scope has stands there already, so that no dictionary grows with each request.
            own = {"method": "", "path": "", "raw_path": b"", "query_string": b"", "extensions": EXTENSIONS}
            self._pattern = {**self.scope, **own}
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        scope: Any = self._pattern.copy()
        scope["headers"] = self.headers
        scope["state"] = self.app_state.copy()
        self.scope = scope

    def _begin_cycle(self, version: str) -> None:
        """Begin to answer a request whose head is complete, once those before it are answered."""
        scope, parser = self.scope, self.parser
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        scope["path"], scope["raw_path"], scope["query_string"] = heads.target(self.url, self.root_path)
        app = self.app
        if self._is_crowded():
            self.logger.warning("Exceeded concurrency limit.")
            app = service_unavailable
        earlier = self.cycle
        self.cycle = cycle = Cycle(
            scope,
            self.transport,
            self.flow,
            self.server_state.default_headers,
            self.expect_100_continue,
            version != "1.0" and parser.should_keep_alive(),
            self.on_response_complete,
        )
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(cycle, app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, app))

    def _is_crowded(self) -> bool:
        """Whether there are as many connections or requests as uvicorn was told to allow."""
        limit = self.limit_concurrency
        return limit is not None and (len(self.connections) >= limit or len(self.tasks) >= limit)
