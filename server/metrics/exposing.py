"""The port that Prometheus scrapes: it asks every serving process, and adds up what they say."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from server.metrics.families import Sample
from server.metrics.merging import lasting, merge, metrics
from server.metrics.reporting import ask
from server.settings import Settings
from server.sources import ConfigurationError

_log = structlog.get_logger(__name__)


@contextlib.contextmanager
def exposed(settings: Settings) -> Iterator[Path | None]:
    """Listen on `metrics.port`, and give the folder in which processes are to report; None when there is no port.

    Raises ConfigurationError when the port cannot be had, or the folder cannot be made.
    """
    host, port = settings.metrics.host, settings.metrics.port
    if port is None:
        yield None
        return
    with _folder() as folder:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Processes(folder))
        try:
            server, thread = start_http_server(port, host, registry)
        except OSError as fault:
            raise ConfigurationError(f"metrics.port: {host}:{port}: {fault.strerror or fault}") from None
        _log.info("metrics.started", address=f"{host}:{server.server_port}")
        try:
            yield folder
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


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
