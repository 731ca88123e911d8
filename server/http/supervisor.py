"""Several processes that serve side by side, and what watches over them; imported where there are several."""

import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

import structlog

from server.http.load_balancing import ConnectionCounts, connection_counts
from server.http.server import HANDLED_SIGNALS, STARTUP_FAILURE, Config, bound

Work = Callable[[Config, socket.socket, socket.socket, ConnectionCounts], None]
"""What a process does: it serves its share of what comes to the first socket, and gives signs of life by the second."""

_STOPPING = (*HANDLED_SIGNALS, signal.SIGHUP)

_SILENCE = 60.0
"""Seconds without a sign of life after which a process that served is replaced.

To these come those that it may take to stop, when somebody has told it alone."""

_LOOKS = 10
"""Looks for signs of life in that time."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Worker:
    """One process, what it gives signs of life by, and its connection counts."""

    process: BaseProcess
    signs: socket.socket
    counts: ConnectionCounts
    has_served: bool = False
    silence: float = 0.0
    """Seconds that were waited for a sign in vain, once it has given one: to load takes as long as it takes."""

    def read_heartbeat(self, passed: float) -> None:
        """Note whether it has given a sign in the `passed` seconds."""
        try:
            is_heard = self.signs.recv(4096) != b""
        except OSError:
            is_heard = False
        self.has_served |= is_heard
        self.silence = 0.0 if is_heard or not self.has_served else self.silence + passed

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.process.pid is not None and self.process.exitcode is None:
            os.kill(self.process.pid, number)


class _Supervisor:
    """Keeps so many processes serving until it is told to stop; then it ends them all."""

    def __init__(self, config: Config, listener: socket.socket, work: Work, silence: float) -> None:
        self._config = config
        self._listener = listener
        self._work = work
        self._workers: list[_Worker] = []
        self._missing = connection_counts(config.workers)
        """The connection counts of each process to start at the next look."""
        self._is_stopping = False
        self._has_failed = False
        self._silence = silence
        self._look = silence / _LOOKS

    def run(self) -> bool:
        """Return once all have ended; say whether one could not start."""
        with _signals() as told:
            self._start_missing()
            while self._workers or self._missing:
                passed = self._wait(told)
                self._handle_signals(told)
                self._replace(passed)
                if passed == self._look:
                    self._start_missing()
        return self._has_failed

    def _wait(self, told: socket.socket) -> float:
        """Return when there is something to do, or to look for; give the seconds that were waited."""
        begun = time.monotonic()
        wait([told, *(worker.process.sentinel for worker in self._workers)], self._look)
        # It may be far later, when all processes were suspended together; then nobody has been silent meanwhile.
        return min(time.monotonic() - begun, self._look)

    def _start_missing(self) -> None:
        while self._missing:
            self._start(self._missing.pop())

    def _start(self, counts: ConnectionCounts) -> None:
        signs, given = socket.socketpair()
        signs.setblocking(False)
        # A process of its own from the beginning on: connections and locks would not survive a fork. Should this one
        # fail, Python tells those that are daemons to stop.
        process = multiprocessing.get_context("spawn").Process(
            target=self._work, args=(self._config, self._listener, given, counts), daemon=True
        )
        process.start()
        given.close()
        self._workers.append(_Worker(process, signs, counts))

    def _handle_signals(self, told: socket.socket) -> None:
        """Stop at the first signal; at a SIGINT after it, have whoever is still serving hurry, as one process would."""
        try:
            numbers = told.recv(64)
        except BlockingIOError:
            return
        for number in filter(_STOPPING.__contains__, numbers):
            if not self._is_stopping:
                self._stop()
            elif number == signal.SIGINT:  # defence: R25 second-interrupt
                self._signal_all(signal.SIGINT)

    def _stop(self) -> None:
        self._is_stopping = True
        self._missing.clear()
        # Held open here, it would take connections that nobody answers.
        self._listener.close()  # defence: R24 close-listener
        self._signal_all(signal.SIGTERM)

    def _signal_all(self, number: signal.Signals) -> None:
        for worker in self._workers:
            worker.send_signal(number)

    def _replace(self, passed: float) -> None:
        """Put a new process in the place of each that has ended or hangs, unless all are to stop."""
        for worker in list(self._workers):
            worker.read_heartbeat(passed)
            if not self._is_stopping and worker.silence > self._silence:
                _log.error("service.process_hangs", pid=worker.process.pid)
                worker.process.kill()
                worker.process.join()
            if worker.process.exitcode is not None:
                self._workers.remove(worker)
                worker.signs.close()
                self._on_exit(worker)

    def _on_exit(self, worker: _Worker) -> None:
        process = worker.process
        worker.counts.withdraw()
        if process.exitcode == STARTUP_FAILURE:
            # It would fail in the same way whenever it is started.
            self._has_failed = True
            if not self._is_stopping:
                self._stop()
        elif not self._is_stopping:
            _log.warning("service.process_ended", pid=process.pid, status=process.exitcode)
            if worker.has_served:
                self._start(worker.counts)
            else:
                # The next one may end as soon: without a pause they would take a whole processor.
                self._missing.append(worker.counts)


def serve(config: Config, work: Work, silence: float = _SILENCE) -> None:
    """Run as many processes as are wanted until they are told to stop; the exit status says if one could not start.

    One that has served, and has given no sign of life for `silence` seconds since, is replaced.
    """
    listener = config.bind_socket()
    listener.listen(config.backlog)  # From here on clients wait for the processes instead of being refused.
    _log.info("service.started", address=bound(config, listener), processes=config.workers)
    silence += config.timeout_graceful_shutdown or 0
    has_failed = _Supervisor(config, listener, work, silence).run()
    _log.info("service.stopped")
    if has_failed:
        sys.exit(STARTUP_FAILURE)


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """Give what gets a byte for each signal to stop, with its number; a lost terminal is one, but not under nohup."""
    told, teller = socket.socketpair()
    with told, teller:
        told.setblocking(False)
        teller.setblocking(False)
        before = signal.set_wakeup_fd(teller.fileno(), warn_on_full_buffer=False)
        for number in _STOPPING:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        try:
            yield told
        finally:
            signal.set_wakeup_fd(before)
