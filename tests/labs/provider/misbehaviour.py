"""Answers of a provider that is broken, slow or hostile, by the names a test asks for them."""

import functools
import gzip
import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

from flask import Response, json

Behaviour = dict[str, Any]
_BLOCK = b"x" * 65536
_DRIP = 0.1
"""Seconds between two bytes."""


def instead(behaviour: Behaviour, released: Event) -> Response | None:
    """Return what is answered instead of the truth, or None when the truth is still to be said."""
    if "hang" in behaviour:
        released.wait(float(behaviour["hang"]))
    status = int(behaviour.get("status", 302 if "redirect" in behaviour else 200))
    for kind in behaviour:
        if kind in _BODIES:
            return _BODIES[kind](behaviour[kind], status)
    return _json({"error": "server_error"}, status) if "status" in behaviour else None


def spoil(behaviour: Behaviour, answer: Response, released: Event) -> Response:
    """Return the true answer cut in half or byte by byte, where that is asked for."""
    if "truncate" in behaviour:
        whole = answer.get_data()
        answer.set_data(whole[: len(whole) // 2])
    if "drip" in behaviour:
        return Response(_drops(answer.get_data(), released), answer.status, mimetype=answer.mimetype)
    return answer


def _long(size: int) -> Iterator[bytes]:
    """Yield valid JSON of about `size` bytes, of which the length is not said."""
    yield b'{"padding": "'
    for _ in range(size // len(_BLOCK)):
        yield _BLOCK
    yield b'"}'


@functools.cache
def _bomb() -> bytes:
    """Return 100 MiB of zeros in 100 KiB."""
    return gzip.compress(b'{"padding": "' + b"0" * (100 * 2**20) + b'"}')


def _json(body: Any, status: int) -> Response:
    return Response(json.dumps(body), status, mimetype="application/json")


def _drops(whole: bytes, released: Event) -> Iterator[bytes]:
    """Yield one byte at a time, and blanks before them, so that it lasts a minute."""
    begun = time.monotonic()
    while time.monotonic() < begun + 60 and not released.wait(_DRIP):
        yield b" "
    yield whole


_BODIES: dict[str, Callable[[Any, int], Response]] = {
    "redirect": lambda target, status: Response("", status, {"Location": target}),
    "html": lambda _, status: Response("<!doctype html><title>Oops</title>", status, mimetype="text/html"),
    "bytes": lambda size, status: Response(_long(size), status, mimetype="application/json"),
    "gzip_bomb": lambda _, status: Response(
        _bomb(), status, {"Content-Encoding": "gzip"}, mimetype="application/json"
    ),
    "raw": lambda text, status: Response(text, status, mimetype="application/json"),
    "json": _json,
}
KINDS = frozenset({"status", "truncate", "hang", "drip", *_BODIES})
"""What a test may ask for."""
