"""Run the provider: `python -m tests.labs.provider --port 0` prints one JSON line with its issuer once it listens."""

import argparse
import json

from werkzeug.serving import WSGIRequestHandler, make_server

from tests.labs.provider.server import make_app
from tests.labs.provider.state import State


class Handler(WSGIRequestHandler):
    """Keeps connections open as real providers do, and prints nothing."""

    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 (the library's own name)
        """Log nothing: the log of requests is asked for at /control/log."""


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.labs.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--name", default="one", help="shown on the page, and the beginning of every key's id"
    )
    options = parser.parse_args()
    state = State(name=options.name)
    server = make_server("127.0.0.1", options.port, make_app(state), threaded=True, request_handler=Handler)
    state.issuer = f"http://127.0.0.1:{server.server_port}"
    print(json.dumps({"issuer": state.issuer}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
