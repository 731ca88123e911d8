"""Ports for servers that tests start."""

import itertools
import os
import secrets
import socket

_FIRST, _END, _SHARES = 20_000, 32_768, 8
"""The ports of tests lie below those that the system gives to outgoing connections (32768 and above on Linux), so that
no connection takes one before the server does."""


def _own() -> list[int]:
    """Return the ports of this worker of pytest-xdist, from a random one on.

    Workers share no ports, because between the choice of a port and the start of its server another could choose it.
    """
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ports = range(_FIRST + number % _SHARES, _END, _SHARES)
    start = secrets.randbelow(len(ports))
    return [*ports[start:], *ports[:start]]


_NEXT = itertools.cycle(_own())


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on, another one with each call."""
    return next(port for port in _NEXT if not _is_taken(port))


def _is_taken(port: int) -> bool:
    """Return whether a server on this port could not start now."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
