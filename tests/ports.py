"""Ports for servers that tests start."""

import secrets
import socket

_RETURNED: set[int] = set()
"""The ports that `free_port` has returned in this process."""


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on, another one with each call.

    It lies below the ports that the system gives to outgoing connections (32768 and above on Linux), so that no
    connection takes it before the server does.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_768)
        if port not in _RETURNED and not _is_taken(port):
            _RETURNED.add(port)
            return port


def _is_taken(port: int) -> bool:
    """Return whether a server on this port could not start now."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
