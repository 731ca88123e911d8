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
    """Log one request; `operation` is its operationId or None, and `path` is logged unchanged."""
    output = logs.output()
    if output is None or output.level > logging.INFO or not output.shows_requests:
        return
    parts: dict[str, object] = {} if operation is None else {"operation": operation}
    if query:
        parts["query"] = mask_query(query.decode("latin-1"))  # defence: V86 JWT18 KEY17 masked-query
    event = {
        "timestamp": logs.timestamp(),
        "level": "info",
        "event": "request",
        "method": method[:16],
        "path": path,
        **parts,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "address": address,
        "request_id": request_id,
    }
    output.write_soon(output.render(event))
