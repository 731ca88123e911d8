"""Several processes that serve the same sockets, supervised by uvicorn."""

import os
import signal
from socket import socket
from types import FrameType

import structlog
from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors.multiprocess import Multiprocess

_log = structlog.get_logger(__name__)


class Workers(Multiprocess):
    """uvicorn's supervisor, which replaces processes that have ended or ignore pings. Every signal stops them all."""

    def __init__(self, config: Config, listeners: list[socket]) -> None:
        self._has_terminal = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN  # as it is under nohup
        super().__init__(config, listeners)

    @property
    def has_failed(self) -> bool:
        """Return whether a process has failed at startup; another attempt would fail in the same way."""
        return any(process.exitcode == STARTUP_FAILURE for process in self.processes)

    def keep_subprocess_alive(self) -> None:
        """Replace and log processes that have ended or do not respond."""
        before = list(self.processes)
        super().keep_subprocess_alive()
        for old in set(before) - set(self.processes):
            _log.warning("service.process_ended", pid=old.pid, status=old.exitcode)

    def handle_hup(self) -> None:
        """Stop all processes at SIGHUP, which means that the terminal was closed; do nothing under nohup."""
        if self._has_terminal:
            self.handle_term()  # defence: R25 workers-hang-up

    def terminate_all(self) -> None:
        """Close the supervisor's sockets, so that they accept no more connections, and stop every process."""
        for listener in self.sockets:
            listener.close()  # defence: R24 close-listener
        super().terminate_all()
        signal.signal(signal.SIGINT, self._interrupt)  # defence: R25 second-interrupt

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        """Send a second SIGINT to the processes that still run."""
        for process in self.processes:
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, number)
