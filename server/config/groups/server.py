"""The settings of the HTTP server, and of the contract it serves."""

from server.config.base import Group
from server.config.value_types import Duration, Size, duration_between, setting


class ServerSettings(Group):
    """`server.*`: the listening address, and limits on requests."""

    key = "server"

    host: str = setting(
        "127.0.0.1",
        "Address to listen on; `localhost` means 127.0.0.1 and ::1, and is the default in development.",
        min_length=1,
    )
    port: int = setting(8000, "Port to listen on; 0 chooses a free one.", ge=0, le=65535)
    # defence: V72 R28 max-body
    max_body: Size = setting(65536, "Largest request body, in bytes.", ge=1024, le=2**24)
    request_timeout: Duration = duration_between(
        "30s",
        "Longest time that a client may take to send a request, and longest time that it may go without "
        "reading the response.",
        at_least="0.05s",
    )
    shutdown_delay: Duration = duration_between(
        "0s",
        "How long the service still accepts connections after a signal to stop. /ready responds with 503 "
        "in this time, so set it to the time that the load balancer takes to notice.",
        at_least="0s",
        at_most="5m",
    )
    shutdown_grace: Duration = duration_between(
        "30s", "Longest wait for running requests when the service stops."
    )


class DocumentsSettings(Group):
    """`documents.*`: the API documentation and the contract (OpenAPI) that the service serves."""

    key = "documents"

    enabled: bool = setting(
        True, "Whether /, /docs, /openapi.json, /openapi-clients.json and /favicon.ico exist."
    )
