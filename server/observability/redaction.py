"""Redaction of values that may be secret, by their keys, and in paths and queries."""

import re
from collections.abc import Container

from structlog.typing import EventDict, WrappedLogger

_SECRET_ENDINGS = ("password", "token", "secret", "authorization", "cookie", "link")
"""Endings, in lower case, of keys whose values are masked, as in `token`, `reset_token` and `newPassword`."""
_MASK = "***"
_SHOWN_QUERY = frozenset({"disableRefresh", "error"})
_PLAIN_NAME = re.compile(r"[A-Za-z_]{1,31}", re.ASCII)
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_-]{1,31}", re.ASCII)


def hide_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Mask the values of an event whose keys end like those of secrets; a processor of structlog.

    Numbers are not masked: they count rows, such as deleted rows of `oauth_token`.
    """
    return {key: _MASK if _is_secret(key, value) else value for key, value in event.items()}


def _is_secret(key: str, value: object) -> bool:
    return key.lower().endswith(_SECRET_ENDINGS) and not isinstance(value, int)


def mask_path(path: str, words: Container[str]) -> str:
    """Return a path in which every segment is masked that is not one of `words`, the segments of known paths."""
    return "/".join(step if not step or step in words else _MASK for step in path[:2048].split("/")[:16])


def mask_query(query: str) -> str:
    """Return a query string with all values masked, except those of parameters that are never secret."""
    return "&".join(_mask_parameter(parameter) for parameter in query[:2048].split("&")[:16])


def _mask_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    if not _PLAIN_NAME.fullmatch(name):
        return _MASK
    # A list of what is shown, because links in emails carry their tokens in the query.
    shown = name in _SHOWN_QUERY and _PLAIN_VALUE.fullmatch(value)
    return f"{name}={value if shown else _MASK}" if equals else name
