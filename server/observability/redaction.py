"""What the log shows of values that may be secret: of keys, paths and queries as little as an operator needs."""

import re
from collections.abc import Container

from structlog.typing import EventDict, WrappedLogger

_SECRET_ENDINGS = ("password", "token", "secret", "authorization", "cookie", "link")
"""How the keys of values end that are never written: `token`, `reset_token`, `newPassword`."""
_MASK = "***"
_SHOWN_QUERY = frozenset({"disableRefresh", "error"})
_PLAIN_NAME = re.compile(r"[A-Za-z_]{1,31}", re.ASCII)
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_-]{1,31}", re.ASCII)


def hide_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Return an event with a mask for every value whose key says that it is secret; serves structlog as a processor."""
    return {key: _MASK if key.lower().endswith(_SECRET_ENDINGS) else value for key, value in event.items()}


def mask_path(path: str, words: Container[str]) -> str:
    """Return a path without an operation, with those of its steps that are words of the contract's own paths."""
    return "/".join(step if not step or step in words else _MASK for step in path[:2048].split("/")[:16])


def mask_query(query: str) -> str:
    """Return the names of a query; values only of the few parameters that never hold anything secret."""
    return "&".join(_mask_parameter(parameter) for parameter in query[:2048].split("&")[:16])


def _mask_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    if not _PLAIN_NAME.fullmatch(name):
        return _MASK
    shown = name in _SHOWN_QUERY and _PLAIN_VALUE.fullmatch(value)
    return f"{name}={value if shown else _MASK}" if equals else name
