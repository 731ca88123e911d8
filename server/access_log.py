"""The lines of the log that requests are: one for each, rendered in parts that are known before."""

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import structlog

from server.logs import Output, timestamp
from server.masks import mask_query

_STATUS, _TIME, _TEXTS = 900_009, 100_001.9, ("@moment@", "@address@", "@id@")
"""What stands in the form of a request's line for what each request has of its own; no path of the contract has it."""


def access(
    *,
    method: str,
    path: str,
    operation: str | None,
    query: str,
    status: int,
    seconds: float,
    address: str | None,
    request_id: str,
) -> None:
    """Log one request; `operation` is its operationId, None without one, and `path` is shown as it is."""
    output = structlog.get_config()["logger_factory"]
    if not isinstance(output, Output) or output.level > logging.INFO or not output.shows_requests:
        return
    if operation is not None and not query and address is not None:
        form = _request_form(output.render, method, path, operation)
        line = form % (timestamp(), status, seconds * 1000, address, request_id)
        output.write_soon(line.encode("ascii"))
        return
    event = _request(method, path, operation)
    if query:
        event["query"] = mask_query(query)
    event |= {"status": status, "ms": round(seconds * 1000, 1), "address": address, "request_id": request_id}
    output.write_soon(output.render({"timestamp": timestamp(), **event}))


def _request(method: str, path: str, operation: str | None) -> dict[str, Any]:
    """Begin the event of a request with what says which it was."""
    named = {} if operation is None else {"operation": operation}
    return {"level": "info", "event": "request", "method": method[:16], "path": path, **named}


@lru_cache(maxsize=256)
def _request_form(
    render: Callable[[Mapping[str, Any]], bytes], method: str, path: str, operation: str
) -> str:
    """Render what all requests to an operation have in common once: a line takes a third of the time then.

    It wants the timestamp, the status, the milliseconds, the address and the request's id, none of which holds
    anything that a format would have to escape.
    """
    facts = {"status": _STATUS, "ms": _TIME, "address": _TEXTS[1], "request_id": _TEXTS[2]}
    line = render({"timestamp": _TEXTS[0], **_request(method, path, operation), **facts}).decode()
    line = line.replace("%", "%%").replace(str(_TIME), "%.1f").replace(str(_STATUS), "%d")
    for text in _TEXTS:
        line = line.replace(text, "%s")
    return line
