"""The access log: one line for each request."""

import logging

from server.observability import logs
from server.observability.redaction import mask_query


def access(  # Positional arguments: Python takes longer for names, and every request calls it.
    method: str,
    path: str,
    operation: str | None,
    query: bytes,
    status: int,
    seconds: float,
    address: str | None,
    request_id: str,
) -> None:
    """Log one request. `operation` is its operationId, None if it has none.

    `path` is logged unchanged, so it must not contain secrets.
    """
    output = logs.output()
    if output is None or output.level > logging.INFO or not output.shows_requests:
        return
    event: dict[str, object] = {
        "timestamp": logs.timestamp(),
        "level": "info",
        "event": "request",
        # A client may send a method of any length.
        "method": method[:16],
        "path": path,
    }
    if operation is not None:
        event["operation"] = operation
    if query:
        event["query"] = mask_query(query.decode("latin-1"))  # defence: V86 JWT18 KEY17 M9 masked-query
    event["status"] = status
    event["ms"] = round(seconds * 1000, 1)
    event["address"] = address
    event["request_id"] = request_id
    output.write_soon(output.render(event))
