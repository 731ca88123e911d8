"""The lines of the log that requests are: one for each, rendered in parts that are known before."""

import logging
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from server.observability import logs
from server.observability.logs import timestamp
from server.observability.redaction import mask_query

_GAPS = ("*moment*", "*milliseconds*", "*address*", "*id*")
"""What stands in a request's line for what each request has of its own; no path of the contract has it."""


def access(  # By position: by name, Python takes longer, and every request calls it.
    method: str,
    path: str,
    operation: str | None,
    query: bytes,
    status: int,
    seconds: float,
    address: str | None,
    request_id: str,
) -> None:
    """Log one request; `operation` is its operationId, None without one, and `path` is shown as it is."""
    output = logs.output()
    if output is None or output.level > logging.INFO or not output.shows_requests:
        return
    if operation is not None and not query and address is not None:
        begin, then, where, whose, end = _line(output.render, method, path, operation, status)
        took = f"{seconds * 1000:.1f}"
        line = (begin, timestamp(), then, took, where, address, whose, request_id, end)
        output.write_soon("".join(line).encode("ascii"))
        return
    event = _request(method, path, operation)
    if query:
        event["query"] = mask_query(query.decode("latin-1"))  # defence: V86 masked-query
    event |= {"status": status, "ms": round(seconds * 1000, 1), "address": address, "request_id": request_id}
    output.write_soon(output.render({"timestamp": timestamp(), **event}))


def _request(method: str, path: str, operation: str | None) -> dict[str, Any]:
    """Begin the event of a request with what says which it was."""
    named = {} if operation is None else {"operation": operation}
    return {"level": "info", "event": "request", "method": method[:16], "path": path, **named}


@lru_cache(maxsize=256)
def _line(
    render: Callable[[Mapping[str, Any]], bytes], method: str, path: str, operation: str, status: int
) -> list[str]:
    """Render what all such answers to an operation have in common once: a line takes a quarter of the time then.

    Between its five pieces belong the timestamp, the milliseconds, the address and the request's id, none of which
    holds anything that would have to be escaped.
    """
    moment, milliseconds, address, request_id = _GAPS
    facts = {"status": status, "ms": milliseconds, "address": address, "request_id": request_id}
    line = render({"timestamp": moment, **_request(method, path, operation), **facts}).decode()
    # A number has no quotes.
    return re.split("|".join(map(re.escape, _GAPS)), line.replace(f'"{milliseconds}"', milliseconds))
