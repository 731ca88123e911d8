"""The HTTP server: uvicorn with the settings, signals and log lines of the service."""

import asyncio
import errno
import gc
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

import structlog
from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.server import HANDLED_SIGNALS, Server

from server.app import create_app
from server.config.base import Settings
from server.config.groups.observability import LogSettings, MetricsSettings
from server.config.groups.password import PasswordSettings, hash_workers
from server.config.groups.server import ServerSettings
from server.config.sources import ConfigurationError
from server.http.protocol import HttpProtocol
from server.http.workers import Workers
from server.observability import logs

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

PING_TIMEOUT = 60
"""Seconds after which a process that does not respond to a ping is replaced. While it loads modules, it cannot
respond."""

Handler = Callable[[int, FrameType | None], object] | int | None
"""The result of `signal.getsignal`: a function, SIG_DFL or SIG_IGN, or None for a handler not installed by Python."""

_log = structlog.get_logger(__name__)


class ServiceConfig(Config):
    """uvicorn's configuration, made from the settings. It is sent to other processes, so the objects of a process, such
    as the application, are not created before `load`."""

    def __init__(self, settings: Settings, workers: int, registry: "CollectorRegistry | None") -> None:
        """Create the configuration. `registry` is for the metrics of a single process; None for several processes."""
        self.settings = settings
        self.address = ""
        """The host and port that the service listens on, once they are known."""
        self._supervisor = os.getpid() if workers > 1 else None
        self._is_announced = False
        self._is_stopping = False
        self._stops_at = math.inf
        """The time (`time.monotonic`) at which to close the socket; infinite until a signal."""
        self._close_socket: Callable[[], object] = _terminate
        self._requests: set[asyncio.Task[None]] = set()
        super().__init__(
            partial(create_app, settings, registry=registry),
            factory=True,
            host=settings[ServerSettings].host,
            port=settings[ServerSettings].port,
            workers=workers,
            loop="uvloop",
            http=self._make_protocol,  # type: ignore[arg-type]  # uvicorn only calls it, and asks for a class
            # The contract has no WebSockets, so uvicorn need not load a library for them.
            ws="none",
            lifespan="on",
            # `load` configures the log of each process.
            log_config=None,
            access_log=False,
            # ClientAddressResolver reads X-Forwarded-For itself; uvicorn must not change the client before.
            proxy_headers=False,
            server_header=False,
            date_header=True,
            callback_notify=self._on_second,
            timeout_notify=0,
            timeout_worker_healthcheck=PING_TIMEOUT,
            # defence: R24 grace
            timeout_graceful_shutdown=math.ceil(settings[ServerSettings].shutdown_grace.total_seconds()),
        )

    def bind_sockets(self) -> list[socket.socket]:
        """Return the sockets bound to the configured address; for `localhost` one per loopback address.

        Raises ConfigurationError if the port is taken.
        """
        host = self.host
        # Clients may resolve localhost to either loopback address.
        first = _bind("127.0.0.1" if host == "localhost" else host, self.port)
        port = first.getsockname()[1]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return [first, _bind("::1", port)] if host == "localhost" and _has_ipv6_loopback() else [first]

    def load(self) -> None:
        """Set up the log, the application and the signal handlers in the process that serves."""
        log = self.settings[LogSettings]
        logs.configure(log.level, log.format, shows_requests=log.requests)
        super().load()
        # All this lives as long as the process. A garbage collection that looked at it would hold up all requests for a
        # tenth of a second, and with them the 99th percentile of get-session.
        gc.freeze()
        for number in HANDLED_SIGNALS:
            signal.signal(number, partial(self._stop, signal.getsignal(number)))
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as it is under nohup
            signal.signal(signal.SIGHUP, _terminate)  # defence: R25 hang-up

    def _make_protocol(self, **arguments: Any) -> HttpProtocol:
        self._requests = arguments["server_state"].tasks
        timeout = self.settings[ServerSettings].request_timeout.total_seconds()
        return HttpProtocol(**arguments, request_timeout=timeout)

    def _stop(self, uvicorns: Handler, number: int, frame: FrameType | None) -> None:
        """Turn /ready to 503 at the signal, before uvicorn closes the socket; at a second SIGINT end the requests.

        Requests that a load balancer sends to a closing socket, before it has noticed the 503, would be lost.
        """
        self.loaded_app.services.refuse_new_work()  # defence: R24 not-ready
        if self._is_stopping and number == signal.SIGINT:
            self._stop_accepting()
            # uvicorn would not shut the application down, and its threads would keep the process alive.
            for request in self._requests:
                request.cancel()  # defence: R25 cancel
        elif callable(uvicorns) and not self._is_stopping:
            self._is_stopping = True
            self._close_socket = partial(uvicorns, number, frame)
            delay = self.settings[ServerSettings].shutdown_delay.total_seconds()
            self._stops_at = time.monotonic() + delay
            if not delay:
                self._stop_accepting()

    def _stop_accepting(self) -> None:
        """Close the socket through uvicorn, once."""
        if self._stops_at < math.inf:
            self._stops_at = math.inf
            self._close_socket()

    async def _on_second(self) -> None:
        """Log the start once; stop at the set time, or when the parent process has ended."""
        if time.monotonic() >= self._stops_at:
            self._stop_accepting()
        if not self._is_announced:
            self._is_announced = True
            _log.info("service.started", address=self.address, pid=os.getpid())
        # If the supervisor was killed, no process would pass on signals, and this one would keep the port.
        if self._supervisor is not None and os.getppid() != self._supervisor:
            _terminate()


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an IP address or a name. Raises ConfigurationError if the port is taken."""
    is_ipv6 = ":" in host
    listener = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET)
    # Without it, a restart fails while connections of the previous process are in TIME_WAIT.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        place = f"[{host}]:{port}" if is_ipv6 else f"{host}:{port}"
        taken = error.errno == errno.EADDRINUSE
        advice = ". Stop the other program, or set another port in GATEWRIGHT_SERVER__PORT" if taken else ""
        raise ConfigurationError(f"server.port: {place}: {error.strerror}{advice}") from None
    listener.set_inheritable(True)
    return listener


def _has_ipv6_loopback() -> bool:
    """Return whether this machine has the address ::1, which containers and kernels without IPv6 lack."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def serve(settings: Settings, workers: int) -> None:
    """Serve with `workers` processes until a signal stops them. Exits with status 3 if the service cannot start.

    Raises ConfigurationError if a port is taken.
    """
    settings = _divided(settings, workers)
    with metrics_port(settings, workers) as registry:
        config = ServiceConfig(settings, workers, registry)
        listeners = config.bind_sockets()
        if workers == 1:
            _serve_alone(config, listeners)
        else:
            _serve_together(config, listeners)


def _serve_alone(config: ServiceConfig, listeners: list[socket.socket]) -> None:
    server = Server(config)
    # After shutdown uvicorn raises the signal again. A requested stop must not look like a failure, and a signal that
    # arrives before uvicorn handles signals must not be lost.
    for number in HANDLED_SIGNALS:
        signal.signal(number, server.handle_exit)  # defence: R25 asked-to-stop
    server.run(listeners)


def _serve_together(config: ServiceConfig, listeners: list[socket.socket]) -> None:
    for listener in listeners:
        listener.listen(
            config.backlog
        )  # From here on clients wait for the processes instead of getting a refused connection.
    _log.info("service.started", address=config.address, processes=config.workers)
    workers = Workers(config, listeners)
    workers.run()
    _log.info("service.stopped")
    if workers.has_failed:
        sys.exit(STARTUP_FAILURE)


def _divided(settings: Settings, processes: int) -> Settings:
    """Return the settings of each process; the processes share the processors unless `hash_workers` is set."""
    password = settings[PasswordSettings]
    if "hash_workers" in password.model_fields_set:
        return settings
    threads = {"hash_workers": hash_workers(processes)}
    return settings.replace(password.model_copy(update=threads))


def metrics_port(settings: Settings, workers: int = 1) -> AbstractContextManager["CollectorRegistry | None"]:
    """Serve the metrics on `metrics.port` within the `with` block; do nothing if it is not set.

    Yields the registry for the metrics of a single process; None without metrics and with several processes. Raises
    ConfigurationError if the port is taken, or the folder that several processes need cannot be made.
    """
    if settings[MetricsSettings].port is None:
        return nullcontext()
    from server.observability.metrics.endpoint import exposed  # noqa: PLC0415 - loaded where it is used

    return exposed(settings, workers)


def _terminate(*_: object) -> None:
    signal.raise_signal(signal.SIGTERM)
