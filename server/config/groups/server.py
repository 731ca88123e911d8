"""The settings of the HTTP server, and of the contract it serves."""

from server.config.base import Group
from server.config.value_types import Duration, Size, duration_between, setting


class ServerSettings(Group):
    """`server.*`: the socket and what a request may cost."""

    key = "server"

    host: str = setting(
        "127.0.0.1",
        "Address to listen on; `localhost` means 127.0.0.1 and ::1, and is the default in development.",
        min_length=1,
    )
    port: int = setting(8000, "Port to listen on; 0 chooses a free one.", ge=0, le=65535)
    # defence: V72 R28 max-body
    max_body: Size = setting(65536, "Largest request body in bytes.", ge=1024, le=2**24)
    request_timeout: Duration = duration_between(
        "30s",
        "Longest time a client may take to send one request, or to go without reading a response.",
        at_least="0.05s",
    )
    shutdown_delay: Duration = duration_between(
        "0s",
        "Time from a signal to stop, when /ready becomes 503, until no new connection is accepted: as long as the load"
        " balancer takes to notice.",
        at_least="0s",
        at_most="5m",
    )
    shutdown_grace: Duration = duration_between(
        "30s", "Longest wait for requests in flight when the service stops."
    )


class DocumentsSettings(Group):
    """`documents.*`: the contract, as the service itself serves it."""

    key = "documents"

    enabled: bool = setting(
        True, "Whether the documents exist: /, /docs, /openapi.json, /openapi-clients.json and /favicon.ico."
    )
