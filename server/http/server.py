"""uvicorn's server."""

from socket import socket

from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.server import HANDLED_SIGNALS, Server

__all__ = ["HANDLED_SIGNALS", "STARTUP_FAILURE", "Config", "Server", "bound"]


def bound(config: Config, listener: socket) -> str:
    """Give where a socket listens, as addresses have it: the host that was configured, and the port that it got."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"{host}:{listener.getsockname()[1]}"
