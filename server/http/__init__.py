"""HTTP below ASGI: the little that stands around uvicorn."""

# It loads uvicorn without its command, which has to happen before anything else here loads uvicorn.
from server.http import server

__all__ = ["server"]
