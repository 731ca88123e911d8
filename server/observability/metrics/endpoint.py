"""The HTTP endpoint for Prometheus. With several processes, it sums up the metrics that they write to files."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from socket import AI_PASSIVE, SOCK_STREAM, getaddrinfo
from socketserver import TCPServer
from threading import Thread
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry, Metric, MetricsHandler
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from server.config.base import Settings
from server.config.groups.observability import MetricsSettings
from server.config.sources import ConfigurationError

PATH = "/metrics"

_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_log = structlog.get_logger(__name__)


@contextlib.contextmanager
def exposed(settings: Settings, workers: int) -> Iterator[CollectorRegistry | None]:
    """Serve the metrics on `metrics.port` within the `with` block; yield the registry in which a single process counts.

    Yields None for several processes: they write to files in a folder, whose path is in the environment that they
    inherit. Raises ConfigurationError if the port is taken, or the folder cannot be made.
    """
    registry = CollectorRegistry()
    with contextlib.ExitStack() as stack:
        if workers > 1:
            registry.register(ProcessesCollector(stack.enter_context(_shared_folder())))
        stack.enter_context(_serving(settings, registry))
        yield registry if workers == 1 else None


@contextlib.contextmanager
def _shared_folder() -> Iterator[Path]:
    """Create the folder for the processes' files, which only this user may enter, and remove it at the end."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="gatewright-")
    except OSError as error:
        raise ConfigurationError(
            f"metrics.port: no folder for the processes' files can be made ({error.strerror}); set TMPDIR"
        ) from None
    with folder as path:
        os.environ[_FOLDER_VARIABLE] = path
        try:
            yield Path(path)
        finally:
            del os.environ[_FOLDER_VARIABLE]


@contextlib.contextmanager
def _serving(settings: Settings, registry: CollectorRegistry) -> Iterator[None]:
    metrics = settings[MetricsSettings]
    host, port = metrics.host, metrics.port
    try:

        class Server(TCPServer):
            address_family = getaddrinfo(host, port, type=SOCK_STREAM, flags=AI_PASSIVE)[0][0]
            # Without it, a restart fails while connections of the previous process are in TIME_WAIT.
            allow_reuse_address = True

        server = Server((host, port or 0), _Handler.factory(registry))
    except OSError as error:
        raise ConfigurationError(f"metrics.port: {host}:{port}: {error.strerror or error}") from None
    with server:
        thread = Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        _log.info("metrics.started", address=f"{host}:{server.server_address[1]}")
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


class ProcessesCollector(Collector):
    """The sum of the metrics of all processes. Of an ended process, counters are kept and gauges are removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = MultiProcessCollector(None, str(folder))

    def collect(self) -> Iterator[Metric]:
        """Read the files of all processes, and yield the summed metrics."""
        alive = {child.pid for child in active_children()}
        written = {int(path.stem.rpartition("_")[2]) for path in self._folder.glob("gauge_live*.db")}
        # Otherwise the gauges of a process that has crashed would be summed up for ever.
        for pid in written - alive:
            mark_process_dead(pid, str(self._folder))
        yield from self._files.collect()


class _Handler(MetricsHandler):
    """Responds to GET of one path. No response names the program or repeats what was sent.

    The server has one thread: clients that hold connections open take no resources from the service.
    """

    timeout = 1.0
    """Seconds without a byte after which the connection is closed."""

    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def handle(self) -> None:
        """Serve one request; the client may leave at any time."""
        with contextlib.suppress(OSError):
            super().handle()

    def do_GET(self) -> None:  # noqa: N802 - the name says the method
        """Send the metrics."""
        if self._is_known_path():
            super().do_GET()
        else:
            self.send_error(404)

    def send_error(self, code: int, *_: object, **__: object) -> None:
        """Refuse a request; an unknown method, for which Python sends 501, with 404 or 405."""
        if code == 501:
            code = 405 if self._is_known_path() else 404
        super().send_error(code)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Begin a response without the headers `Server` and `Date`."""
        self.send_response_only(code, message)
        if code == 405:
            self.send_header("Allow", "GET")

    def _is_known_path(self) -> bool:
        return urlsplit(self.path).path == PATH
