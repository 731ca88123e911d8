"""uvicorn without its command, which would load a second library for commands and what watches over processes."""

from socket import socket

from server.imports import without

# Nor does uvicorn set up the log, or read from a file how to.
UNUSED = {"configparser": ("RawConfigParser",), "uvicorn.main": ("Server", "main", "run")}

with without(hollow=UNUSED, late={"logging.config": ()}):
    from uvicorn.config import STARTUP_FAILURE, Config
    from uvicorn.server import HANDLED_SIGNALS, Server

__all__ = ["HANDLED_SIGNALS", "STARTUP_FAILURE", "Config", "Server", "bound"]


def bound(config: Config, listener: socket) -> str:
    """Give where a socket listens, as addresses have it: the host that was configured, and the port that it got."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"{host}:{listener.getsockname()[1]}"
