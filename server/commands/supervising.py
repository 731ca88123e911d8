"""Several processes that serve side by side, and what watches over them; imported where there are several."""

import signal
import sys
from socket import socket

import structlog
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from server.http_server import Config, bound

_log = structlog.get_logger(__name__)


class _Supervisor(Multiprocess):
    """What watches over several processes, and ends them all when it is told to stop."""

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        on_hang_up = signal.getsignal(signal.SIGHUP)
        super().__init__(config, sockets)
        if on_hang_up == signal.SIG_IGN:
            signal.signal(signal.SIGHUP, on_hang_up)

    def terminate_all(self) -> None:
        """Let the socket go as well: held open here, it would take connections that nobody answers."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()

    def handle_hup(self) -> None:
        """Stop, as one process alone does: settings are read once, so there is nothing to begin anew for."""
        self.should_exit.set()


def serve(config: Config) -> None:
    """Run as many processes as are wanted until they are told to stop; the exit status says if one could not start."""
    listener = config.bind_socket()
    listener.listen(config.backlog)  # From here on clients wait for the processes instead of being refused.
    _log.info("service.started", address=bound(config, listener), processes=config.workers)
    supervisor = _Supervisor(config, sockets=[listener])
    supervisor.run()
    _log.info("service.stopped")
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        sys.exit(STARTUP_FAILURE)
