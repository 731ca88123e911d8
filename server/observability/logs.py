"""The log: one line per event on standard error, in JSON or for people.

No text from outside can begin a new line. Texts of exceptions are never written, for they may hold passwords,
tokens or SQL: only types and places are.
"""

import asyncio
import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, BinaryIO, Literal, cast

import orjson
import structlog
from structlog.typing import EventDict, WrappedLogger

from server.observability.redaction import hide_secrets

Format = Literal["json", "console"]

_FOREIGN_LINE = 500
"""Characters of a library's message that are kept, of its first line only."""
_QUIET = ("uvicorn", "sqlalchemy", "aiosqlite", "asyncio", "alembic", "aiosmtplib", "connexion")
"""Libraries that below a warning tell nothing an operator needs, and some of them values of statements."""

_output: "Output | None" = None

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:@+*{}-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Output:
    """Where lines go and what they look like. Faults of the stream are swallowed: no request may fail of them."""

    stream: BinaryIO
    render: Callable[[Mapping[str, Any]], bytes]
    level: int
    shows_requests: bool = True
    waiting: list[bytes] = field(default_factory=list)
    """Lines of this turn of the event loop, to be written by one call."""
    torn: bytearray = field(default_factory=bytearray)
    """The rest of a line that a full disk has cut: it goes before anything else, so that no two lines become one."""

    def __call__(self, *_: Any) -> "Output":
        """Serve as structlog's logger factory: all loggers write here."""
        return self

    def write(self, line: bytes) -> None:
        """Write one line, and those that wait before it."""
        self._write(self._take_waiting() + line)

    def write_soon(self, line: bytes) -> None:
        """Write one line together with the others of this turn of the event loop; outside of one at once."""
        self.waiting.append(line)
        if len(self.waiting) > 1:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.write_waiting()
        else:
            loop.call_soon(self.write_waiting)

    def write_waiting(self) -> None:
        """Write what waits."""
        self._write(self._take_waiting())

    def _take_waiting(self) -> bytes:
        lines = b"".join(self.waiting)
        self.waiting.clear()
        return lines

    def _write(self, lines: bytes) -> None:
        """Write lines. A full disk drops them, except for the rest of a line that was begun."""
        lines = bytes(self.torn) + lines
        written = 0
        try:
            while written < len(lines) and (count := self.stream.write(lines[written:])):
                written += count
            self.stream.flush()
        except (OSError, ValueError):  # defence: R8 log-write-error
            pass
        if written:
            self.torn[:] = _rest_of_line(lines, written)  # defence: R8 torn-line

    debug = info = warning = error = critical = write


def _rest_of_line(lines: bytes, written: int) -> bytes:
    """Return what is missing of the line in which so many bytes end; nothing between two lines."""
    if lines[written - 1 : written] == b"\n":
        return b""
    return lines[written : lines.find(b"\n", written) + 1]


class _Forward(logging.Handler):
    """Hands what libraries log over to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first line of the message: the further ones are traces or quote values."""
        first = record.getMessage().partition("\n")[0][:_FOREIGN_LINE]
        structlog.get_logger().log(record.levelno, first, logger=record.name, exc_info=record.exc_info)


def configure(
    level: str, form: Format, stream: BinaryIO | None = None, *, shows_requests: bool = True
) -> None:
    """Set up all logging of the process by the settings `log.level`, `log.format` and `log.requests`."""
    least = logging.getLevelNamesMapping()[level.upper()]
    # Without Python's buffer it is known how much of a line was written.
    standard = cast(BinaryIO, getattr(sys.stderr.buffer, "raw", sys.stderr.buffer))
    render = _json_line if form == "json" else _console_line
    global _output  # noqa: PLW0603  # What structlog keeps takes ten times as long to ask for, and every request asks.
    output = _output = Output(stream or standard, render, least, shows_requests)
    structlog.configure(
        processors=[_add_header, _describe_exception, hide_secrets, _renderer(output)],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=output,
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Forward()], level=max(least, logging.WARNING), force=True)
    for name in _QUIET:
        library = logging.getLogger(name)
        library.setLevel(max(least, logging.WARNING))
        library.handlers.clear()
        library.propagate = True


def reset() -> None:
    """Undo `configure`, for tests: requests and events are no longer logged; libraries still are."""
    global _output  # noqa: PLW0603 - see above
    _output = None
    structlog.reset_defaults()


def output() -> Output | None:
    """Return where lines go; None before logging is set up."""
    return _output


def event(name: str, facts: Mapping[str, Any], *, is_warning: bool) -> None:
    """Log one event, whose facts hold no secret, together with what else this turn of the event loop has to tell."""
    if _output is not None and _output.level <= (logging.WARNING if is_warning else logging.INFO):
        level = "warning" if is_warning else "info"
        _output.write_soon(_output.render({"timestamp": timestamp(), "level": level, "event": name, **facts}))


def names(error: BaseException) -> list[str]:
    """Return the types of an error and of its causes, the outermost first."""
    return [f"{type(step).__module__}.{type(step).__qualname__}" for step in causes(error)]


def frames(error: BaseException) -> list[str]:
    """Return where each of the errors was raised, outermost call first: file, line and function, no values."""
    found = [frame for step in causes(error) for frame in traceback.extract_tb(step.__traceback__)]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in found]


def causes(error: BaseException) -> list[BaseException]:
    """Return an error and what caused it, the outermost first."""
    chain: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in chain:
        chain.append(step)
        step = step.__cause__ or step.__context__
    return chain


def timestamp() -> str:
    """Return the present moment as the log writes it, in UTC with milliseconds."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """Return the moment without its fraction. Cached, as every request logs: formatting takes 1.5 microseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _add_header(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return {"timestamp": timestamp(), "level": method, "event": event.pop("event", ""), **event}


def _describe_exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event = {**event, "error": names(error), "trace": frames(error)}
    return event


def _renderer(output: Output) -> Callable[[WrappedLogger, str, EventDict], bytes]:
    return lambda _, __, event: output.render(event)


def _json_line(event: Mapping[str, Any]) -> bytes:
    """Return one JSON object, in ASCII: some readers take U+2028 and its like for the end of a line."""
    try:
        line = orjson.dumps(event, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    except TypeError:
        line = b"\xff"  # A lone surrogate, which only the slower encoder can write.
    if not line.isascii() or b"\x7f" in line:  # DEL is the one control character that JSON may hold as it is.
        line = json.dumps(event, default=str).replace("\x7f", "\\u007f").encode() + b"\n"
    return line


def _console_line(event: Mapping[str, Any]) -> bytes:
    head = f"{event['timestamp']} {event['level']:<8} {_word(event['event'])}"
    rest = (
        f"{key}={_word(value)}" for key, value in event.items() if key not in ("timestamp", "level", "event")
    )
    return " ".join((head, *rest)).encode("ascii", "backslashreplace") + b"\n"


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return text if _PLAIN_WORD.fullmatch(text) else _json_line(value)[:-1].decode()
