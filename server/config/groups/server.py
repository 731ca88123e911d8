"""The settings of the HTTP server, and of the contract it serves."""

from pydantic import Field

from server.config.base import Group
from server.config.value_types import Duration, Size, duration_between


class ServerSettings(Group):
    """`server.*`: the socket and what a request may cost."""

    key = "server"

    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on; `localhost` means 127.0.0.1 and ::1, and is the default in development.",
    )
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 chooses a free one.")
    # defence: V72 R28 max-body
    max_body: Size = Field(default=65536, ge=1024, le=2**24, description="Largest request body in bytes.")
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

    enabled: bool = Field(
        default=True,
        description="Whether the documents exist: /, /docs, /openapi.json, /openapi-clients.json and /favicon.ico.",
    )
