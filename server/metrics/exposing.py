"""The port that Prometheus scrapes: it asks every serving process, and adds up what they say."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from socket import AI_PASSIVE, SOCK_STREAM, getaddrinfo, socket
from threading import Lock, Thread
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from server.metrics.families import Sample
from server.metrics.merging import lasting, merge, metrics
from server.metrics.reporting import ask
from server.settings import Settings
from server.sources import ConfigurationError

_log = structlog.get_logger(__name__)


@contextlib.contextmanager
def exposed(settings: Settings) -> Iterator[Path]:
    """Do what `server/commands/serving.py` says of a port that is given."""
    host, port = settings.metrics.host, settings.metrics.port
    assert port is not None  # noqa: S101 - for the types: without a port nobody asks
    with _folder() as folder:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Processes(folder))
        try:
            server = _Server.at(host, port)
        except OSError as fault:
            raise ConfigurationError(f"metrics.port: {host}:{port}: {fault.strerror or fault}") from None
        server.set_app(make_wsgi_app(registry))
        thread = Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        _log.info("metrics.started", address=f"{host}:{server.server_port}")
        try:
            yield folder
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Connection(WSGIRequestHandler):
    """One question, which must come in time; nothing of it is logged."""

    timeout = 1.0
    """Seconds without a byte after which the connection is closed."""

    def handle(self) -> None:
        """Answer, unless the other side falls silent or leaves."""
        with contextlib.suppress(OSError):
            super().handle()

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
