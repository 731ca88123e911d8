"""The port that Prometheus scrapes: it asks every serving process, and adds up what they say."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from socket import AI_PASSIVE, SOCK_STREAM, getaddrinfo, socket
from threading import Lock, Thread
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.observability.metrics.aggregation import lasting, merge, metrics
from server.observability.metrics.families import Sample
from server.observability.metrics.reporter import ask

PATH = "/metrics"

_LONGEST_LINE = 8 * 1024
"""Bytes of a request's first line; a longer one is not answered."""

_log = structlog.get_logger(__name__)


@contextlib.contextmanager
def exposed(settings: Settings) -> Iterator[Path]:
    """Do what `server/http/server.py` says of a port that is given."""
    host, port = settings.metrics.host, settings.metrics.port
    assert port is not None  # noqa: S101 - for the types: without a port nobody asks
    with _folder() as folder:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Processes(folder))
        try:
            server = _Server.at(host, port)
        except OSError as fault:
            raise ConfigurationError(f"metrics.port: {host}:{port}: {fault.strerror or fault}") from None
        server.set_app(_only_metrics(make_wsgi_app(registry)))
        thread = Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        _log.info("metrics.started", address=f"{host}:{server.server_port}")
        try:
            yield folder
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _only_metrics(app: WSGIApplication) -> WSGIApplication:
    """Give an application that hands over GET and HEAD of the one path alone; the library's answers every path."""

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != PATH:
            return _refuse(start, "404 Not Found")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _refuse(start, "405 Method Not Allowed", ("Allow", "GET, HEAD"))
        return app({**environ, "REQUEST_METHOD": "GET"}, start)

    return answer


def _refuse(start: StartResponse, status: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    start(status, [("Content-Type", "text/plain; charset=utf-8"), *headers])
    return [f"{status}\n".encode()]


class _Answer(ServerHandler):
    """One answer, which does not say what program gave it."""

    environ: WSGIEnvironment
    headers_sent: bool
    server_software = ""

    def write(self, data: bytes) -> None:
        """Send headers and body; to HEAD the headers alone, with the length that the body would have."""
        if self.environ["REQUEST_METHOD"] != "HEAD":
            super().write(data)
        elif not self.headers_sent:
            self.bytes_sent = len(data)
            self.send_headers()


class _Connection(WSGIRequestHandler):
    """One question, which must come in time; nothing of it is logged, or said again in a refusal."""

    timeout = 1.0
    """Seconds without a byte after which the connection is closed."""

    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def handle(self) -> None:
        """Answer, unless the other side falls silent or leaves."""
        with contextlib.suppress(OSError):
            self.raw_requestline = self.rfile.readline(_LONGEST_LINE)
            if self.raw_requestline.endswith(b"\n") and self.parse_request():
                streams = self.rfile, self.wfile, self.get_stderr()
                answer = _Answer(*streams, self.get_environ(), multithread=False)  # type: ignore[arg-type]
                answer.request_handler = self  # type: ignore[attr-defined]  # What it asks to log itself.
                answer.run(self.server.get_app())  # type: ignore[attr-defined]

    def send_error(self, code: int, *_: object, **__: object) -> None:
        """Refuse what is no request."""
        super().send_error(code)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Begin an answer as the library does, without its name."""
        self.send_response_only(code, message)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(WSGIServer):
    """Answers one question at a time: whoever opens many connections waits, and takes nothing from the service."""

    @classmethod
    def at(cls, host: str, port: int) -> "_Server":
        """Listen at an address, of IPv4 or IPv6. Raises OSError."""
        server = cls((host, port), _Connection, bind_and_activate=False)
        server.address_family = getaddrinfo(host, port, type=SOCK_STREAM, flags=AI_PASSIVE)[0][0]
        server.socket.close()
        server.socket = socket(server.address_family, SOCK_STREAM)
        try:
            server.server_bind()
            server.server_activate()
        except OSError:
            server.server_close()
            raise
        return server


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder that nobody else may enter, and remove it at the end."""
    try:
        made = tempfile.TemporaryDirectory(prefix="gatewright-")
    except OSError as fault:
        raise ConfigurationError(
            f"metrics.port: no folder for the processes' sockets can be made ({fault.strerror}); set TMPDIR"
        ) from None
    with made as folder:
        yield Path(folder)


class Processes(Collector):
    """What all serving processes counted, those that have ended included: what counts up never falls.

    What a process counted after the last time it was asked is lost with it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[Path, list[Sample]] = {}
        """What is kept of each process that may come to an end before it is asked again."""
        self._gone: list[Sample] = []
        self._turn = Lock()

    def collect(self) -> Iterator[Metric]:
        """Ask every process now."""
        with self._turn:
            answers = [self._answer(path) for path in sorted({*self._folder.glob("*.socket"), *self._last})]
            values = merge([self._gone, *answers])
        return metrics(values)

    def _answer(self, path: Path) -> list[Sample]:
        """Give the samples of a process; of one that is silent, and of one that is gone, what it had counted."""
        try:
            samples = ask(path)
        except (ConnectionError, FileNotFoundError):
            path.unlink(missing_ok=True)
            self._gone = lasting(merge([self._gone, self._last.pop(path, [])]))
            return []
        except (OSError, ValueError) as fault:
            _log.warning("metrics.process_silent", error=type(fault).__name__)
            return self._last.get(path, [])
        self._last[path] = lasting(merge([samples]))
        return samples
