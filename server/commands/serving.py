"""`gatewright serve`: the HTTP server."""

import asyncio
import gc
import math
import os
import signal
import sys
from functools import partial
from socket import socket
from types import FrameType
from typing import Annotated

import structlog
import typer
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from server import logs
from server.app import create_app
from server.commands import configuration, database
from server.protocol import GatheringProtocol, gathering
from server.settings import Settings

_log = structlog.get_logger(__name__)


_PATIENCE = 60
"""Seconds without a sign of life after which a worker is replaced. It gives none while it loads, and a machine that is
starting everything at once takes its time: with less, no worker would ever come to serve there."""


class _Config(uvicorn.Config):
    """uvicorn's configuration from the settings. It travels to other processes, so all the rest is made by `load`."""

    def __init__(self, settings: Settings, workers: int) -> None:
        self.settings = settings
        super().__init__(
            partial(create_app, settings),
            factory=True,
            host=settings.server.host,
            port=settings.server.port,
            workers=workers,
            loop="uvloop",
            http=GatheringProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=True,
            timeout_worker_healthcheck=_PATIENCE,
            timeout_graceful_shutdown=math.ceil(settings.server.shutdown_grace.total_seconds()),
        )

    def load(self) -> None:
        """Set up, in the process that serves, its log, the application and the protocol."""
        logs.configure(self.settings.log.level, self.settings.log.format)
        super().load()
        self.http_protocol_class = gathering(
            request_timeout=self.settings.server.request_timeout.total_seconds()
        )


class _AnnouncedServer(uvicorn.Server):
    """A server that tells when it serves and when it has stopped, each in one line."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Open the application, then the socket."""
        await super().startup(sockets)
        # What is there by now stays: to look through it for garbage again and again would hold up requests.
        gc.freeze()
        _log.info("service.started", address=_bound(self.config, self.servers[0].sockets[0]), pid=os.getpid())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Turn /ready to 503 at the signal, before the socket closes."""
        if self.config.loaded:
            self.config.loaded_app.services.refuse_new_work()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Take nothing new, finish what is in flight, close the application."""
        _log.info("service.stopping", requests=len(self.server_state.tasks))
        await super().shutdown(sockets)
        _log.info("service.stopped")


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides server.host.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides server.port.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that serve side by side.")] = 1,
) -> None:
    """Run the service until it is told to stop."""
    chosen = {"GATEWRIGHT_SERVER__HOST": host, "GATEWRIGHT_SERVER__PORT": None if port is None else str(port)}
    settings = configuration.read({name: value for name, value in chosen.items() if value is not None})
    asyncio.run(database.prepare(settings, settings.database.migrate))
    if settings.profile == "development":
        _greet(settings)
    config = _Config(settings, workers)
    # Once stopped, uvicorn raises the signal again. A stop that was asked for is no fault and must not look like one.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    if workers == 1:
        _AnnouncedServer(config).run()
    else:
        _serve_with_processes(config)


def _serve_with_processes(config: uvicorn.Config) -> None:
    listener = config.bind_socket()
    listener.listen(config.backlog)  # From here on clients wait for the processes instead of being refused.
    _log.info("service.started", address=_bound(config, listener), processes=config.workers)
    supervisor = Multiprocess(config, sockets=[listener])
    supervisor.run()
    _log.info("service.stopped")
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        sys.exit(STARTUP_FAILURE)


def _bound(config: uvicorn.Config, listener: socket) -> str:
    return f"{config.host}:{listener.getsockname()[1]}"


def _greet(settings: Settings) -> None:
    base = settings.base_url + settings.base_path
    typer.echo(f"Gatewright, development profile: {base}")
    typer.echo(f"  Try it out:  {base}/docs")
    typer.echo(f"  Mail:        {configuration.mail_route(settings)}")
