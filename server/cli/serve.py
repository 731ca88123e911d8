"""`gatewright serve`: the HTTP server."""

import asyncio
import gc
import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from codegen import bundle
from server.app import create_app
from server.cli import check_config, migrate
from server.config.groups.password import hash_workers
from server.config.settings import Settings
from server.http.acceptor import Acceptor, SharedCounts, SingleProcess
from server.http.protocol import HttpProtocol, make_protocol
from server.http.server import HANDLED_SIGNALS, Config, Server, bound
from server.observability import logs

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_Handler = Callable[[int, FrameType | None], object] | int | None
"""What Python knows as a signal's handler: a function, one of the system's, or none of Python's."""

_ALWAYS = -sys.maxsize
"""For uvicorn to do each second what it would else do after so many seconds of a clock that may be set back."""

_log = structlog.get_logger(__name__)


class _Config(Config):
    """uvicorn's configuration from the settings. It travels to other processes, so all the rest is made by `load`."""

    def __init__(self, settings: Settings, workers: int, registry: "CollectorRegistry | None") -> None:
        self.settings = settings
        super().__init__(
            partial(create_app, settings, registry=registry),
            factory=True,
            host=settings.server.host,
            port=settings.server.port,
            workers=workers,
            loop="uvloop",
            http=HttpProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=True,
            # defence: R24 grace
            timeout_graceful_shutdown=math.ceil(settings.server.shutdown_grace.total_seconds()),
        )

    def load(self) -> None:
        """Set up, in the process that serves, its log, the application and the protocol."""
        log = self.settings.log
        logs.configure(log.level, log.format, shows_requests=log.requests)
        super().load()
        # From here on the contract is asked for only as it is published.
        bundle.forget()
        # What is there by now stays: to look through it for garbage again and again would hold up requests.
        gc.freeze()
        self.http_protocol_class = make_protocol(
            request_timeout=self.settings.server.request_timeout.total_seconds()
        )
        self._heed_signals()

    def _heed_signals(self) -> None:
        """Turn /ready to 503 at the signal, before the socket closes; a lost terminal is a wish to stop as well.

        The handlers of uvicorn, which are in place by now in whatever process serves, come after.
        """
        for number in HANDLED_SIGNALS:
            signal.signal(number, partial(self._stop, signal.getsignal(number)))
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as it is under nohup
            signal.signal(signal.SIGHUP, _stop_for_good)  # defence: R25 hang-up

    def _stop(self, uvicorns: _Handler, number: int, frame: FrameType | None) -> None:
        self.loaded_app.services.refuse_new_work()  # defence: R24 not-ready
        if callable(uvicorns):
            uvicorns(number, frame)


class _AnnouncedServer(Server):
    """A server that takes its connections itself, and tells when it serves and when it has stopped, in a line each."""

    def __init__(self, config: Config, counts: SharedCounts) -> None:
        super().__init__(config)
        self._counts = counts
        self._accepting: list[Acceptor] = []

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Open the application, then the socket."""
        await super().startup(sockets)
        # By numbers of their own, as those that the servers of the event loop watch end with them.
        listeners = [
            socket(fileno=os.dup(each.fileno())) for server in self.servers for each in server.sockets
        ]
        for server in self.servers:
            server.close()
        self._accepting = [
            Acceptor(each, self._serve_connection, self._served, self._counts) for each in listeners
        ]
        gc.enable()
        _log.info("service.started", address=bound(self.config, listeners[0]), pid=os.getpid())

    def _served(self) -> int:
        return len(self.server_state.connections)

    async def on_tick(self, counter: int) -> bool:
        """Tell other processes how many connections there are by now; ten times a second."""
        for accepting in self._accepting:
            accepting.publish()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Take nothing new, finish what is in flight unless told to hurry by a second SIGINT, close the application."""
        _log.info("service.stopping", requests=len(self.server_state.tasks))
        for accepting in self._accepting:
            await accepting.close()
        await super().shutdown(sockets)
        if (
            self.force_exit
        ):  # uvicorn leaves the application as it is, and its threads would keep the process.
            await self.lifespan.shutdown()  # defence: R25 shutdown
        _log.info("service.stopped")

    def _serve_connection(self) -> asyncio.Protocol:
        """Make what serves one connection, as the server of the event loop does."""
        return self.config.http_protocol_class(  # type: ignore[call-arg]  # as uvicorn itself has to say
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides server.host.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides server.port.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that serve side by side.")] = 1,
) -> None:
    """Run the service until it is told to stop."""
    chosen = {"GATEWRIGHT_SERVER__HOST": host, "GATEWRIGHT_SERVER__PORT": None if port is None else str(port)}
    settings = check_config.read({name: value for name, value in chosen.items() if value is not None})
    asyncio.run(migrate.prepare(settings, settings.database.migrate))
    if settings.profile == "development":
        _greet(settings)
    settings = _shared(settings, workers)
    with metrics_port(settings, workers) as registry:
        config = _Config(settings, workers, registry)
        if workers == 1:
            _run(config, SingleProcess())
        else:
            # What watches over processes is loaded where there are several.
            from server.http import supervisor  # noqa: PLC0415 - see above

            supervisor.serve(config, work)


def _shared(settings: Settings, processes: int) -> Settings:
    """Give the settings for each of so many processes: what depends on the processors, and was not set, is shared."""
    password = settings.password
    if "hash_workers" in password.model_fields_set:
        return settings
    threads = {"hash_workers": hash_workers(processes)}
    return settings.model_copy(update={"password": password.model_copy(update=threads)})


def work(config: Config, listener: socket, signs: socket, counts: SharedCounts) -> None:
    """Be one process of several: serve a share of what comes to the socket, and give signs of life to who watches."""
    signs.setblocking(False)

    async def give_sign() -> None:
        try:
            signs.send(b".")
        except BlockingIOError:
            return  # Who watches is held up, and has enough to hear of later.
        except OSError:
            # Nobody watches any more, and nobody would end this process.
            signal.raise_signal(signal.SIGTERM)

    config.callback_notify, config.timeout_notify = give_sign, _ALWAYS
    _run(config, counts, [listener])


def _run(config: Config, counts: SharedCounts, sockets: list[socket] | None = None) -> None:
    server = _AnnouncedServer(config, counts)
    # Once stopped, uvicorn raises the signal again. A stop that was asked for is no fault and must not look like one;
    # nor may one be lost that is asked for before uvicorn listens.
    for number in HANDLED_SIGNALS:
        signal.signal(number, server.handle_exit)  # defence: R25 asked-to-stop
    # Until the service has started nearly all that is made stays: looking for garbage would take 10 ms.
    gc.disable()
    try:
        server.run(sockets)
    finally:
        gc.enable()


def metrics_port(settings: Settings, workers: int = 1) -> AbstractContextManager["CollectorRegistry | None"]:
    """Listen on `metrics.port`, if it is set; yield the registry for the metrics of a service of one process.

    Raises ConfigurationError when the port is taken, or the folder for several processes cannot be made.
    """
    if settings.metrics.port is None:
        return nullcontext()
    from server.observability.metrics.endpoint import exposed  # noqa: PLC0415 - loaded where it is used

    return exposed(settings, workers)


def _stop_for_good(*_: object) -> None:
    signal.raise_signal(signal.SIGTERM)


def _greet(settings: Settings) -> None:
    base = settings.base_url + settings.base_path
    typer.echo(f"Gatewright, development profile: {base}")
    if settings.documents.enabled:
        typer.echo(f"  Try it out:  {base}/docs")
    typer.echo(f"  Mail:        {check_config.mail_route(settings)}")
