"""The log: one line per event on standard error, in JSON or for people.

No text from outside can begin a new line. Messages of exceptions are never written, because they may contain
passwords, tokens or SQL: only types and locations are. structlog's JSONRenderer and ProcessorFormatter would replace
no code: lines must be ASCII, and lines that are torn or pending need a stream of our own.
"""

import asyncio
import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, BinaryIO, Literal, cast

import orjson
import structlog
from structlog.typing import EventDict, WrappedLogger

from server.observability import terminal
from server.observability.redaction import hide_secrets

Format = Literal["json", "console"]

_FOREIGN_LINE = 500
"""Maximum number of characters of a library's message that are logged, from its first line only."""
_QUIET = ("uvicorn", "sqlalchemy", "aiosqlite", "asyncio", "alembic", "aiosmtplib", "connexion")
"""Libraries of which only warnings and errors are logged; their other messages may contain values of statements."""

_ONLY_OF_ERRORS = frozenset(
    {"id", "time", "outcome", "operation", "actor_id", "session_id", "address", "user_agent", "request_id"}
)
"""Fields that lines for people do not show, unless they report an error."""

_output: "Output | None" = None


@dataclass(frozen=True, slots=True)
class Output:
    """The stream, format and level of the log. Errors of the stream are ignored, so that no request fails."""

    stream: BinaryIO
    render: Callable[[Mapping[str, Any]], bytes]
    level: int
    shows_requests: bool = True
    waiting: list[bytes] = field(default_factory=list)
    """The pending lines: those of this iteration of the event loop, which are written by one call."""
    torn: bytearray = field(default_factory=bytearray)
    """The rest of a line of which a full disk took only a part. It is written before the next line."""

    def __call__(self, *_: Any) -> "Output":
        """Return this output, because structlog calls it as a factory of loggers."""
        return self

    def write(self, line: bytes) -> None:
        """Write the pending lines and then one more line."""
        # Requests of this iteration were finished earlier and must not appear after this line.
        self._write(self._take_waiting() + line)

    def write_soon(self, line: bytes) -> None:
        """Add one line to the pending ones, which are written after this iteration of the event loop.

        Without an event loop, write it at once.
        """
        self.waiting.append(line)
        if len(self.waiting) > 1:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.write_waiting()
        else:
            # One system call for all requests that end in this iteration.
            loop.call_soon(self.write_waiting)

    def write_waiting(self) -> None:
        """Write the pending lines."""
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
            # A raw stream may write fewer bytes than it was given.
            while written < len(lines) and (count := self.stream.write(lines[written:])):
                written += count
            self.stream.flush()
        except (OSError, ValueError):  # defence: R8 log-write-error
            pass
        if written:
            self.torn[:] = _rest_of_line(lines, written)  # defence: R8 torn-line

    debug = info = warning = error = critical = write


def _rest_of_line(lines: bytes, written: int) -> bytes:
    """Return the missing part of the line in which `written` bytes end; nothing between two lines."""
    if lines[written - 1 : written] == b"\n":
        return b""
    return lines[written : lines.find(b"\n", written) + 1]


class _Forward(logging.Handler):
    """Forwards records of the logging module to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the first line of the message; further lines are traces, or contain values."""
        first = record.getMessage().partition("\n")[0][:_FOREIGN_LINE]
        structlog.get_logger().log(record.levelno, first, logger=record.name, exc_info=record.exc_info)


def configure(
    level: str, form: Format, stream: BinaryIO | None = None, *, shows_requests: bool = True
) -> None:
    """Configure the logging of this process. The log is written to `stream`, by default standard error.

    `level`, `form` and `shows_requests` are the settings `log.level`, `log.format` and `log.requests`.
    """
    least = logging.getLevelNamesMapping()[level.upper()]
    # Only the raw stream reports how much of a line was written.
    standard = cast(BinaryIO, getattr(sys.stderr.buffer, "raw", sys.stderr.buffer))
    renderer = structlog.dev.ConsoleRenderer(
        pad_event_to=0, colors=terminal.shows_colours(stream or standard), sort_keys=False
    )
    render = _json_line if form == "json" else partial(_console_line, renderer=renderer)
    global _output  # noqa: PLW0603  # structlog's own configuration takes ten times as long to read, and every request reads it.
    output = _output = Output(stream or standard, render, least, shows_requests)
    structlog.configure(
        processors=[_add_header, _describe_exception, hide_secrets, _renderer(output)],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=output,
        # A logger that was used before would keep the previous output.
        cache_logger_on_first_use=False,
    )
    # Libraries log values of statements and addresses below the level of a warning.
    logging.basicConfig(handlers=[_Forward()], level=max(least, logging.WARNING), force=True)
    for name in _QUIET:
        library = logging.getLogger(name)
        library.setLevel(max(least, logging.WARNING))
        library.handlers.clear()
        library.propagate = True


def reset() -> None:
    """Undo `configure`, for tests: requests and events are no longer logged, messages of libraries still are."""
    global _output  # noqa: PLW0603 - see above
    _output = None
    structlog.reset_defaults()


def output() -> Output | None:
    """Return the output that `configure` has set; None before the first call."""
    return _output


def event(name: str, facts: Mapping[str, Any], *, is_warning: bool) -> None:
    """Log one event, as a warning or as information, with the lines of this iteration of the event loop.

    `facts` are logged unchanged, so they must not contain secrets.
    """
    if _output is not None and _output.level <= (logging.WARNING if is_warning else logging.INFO):
        level = "warning" if is_warning else "info"
        _output.write_soon(_output.render({"timestamp": timestamp(), "level": level, "event": name, **facts}))


def names(error: BaseException) -> list[str]:
    """Return the names of the types of an error and its causes, outermost first."""
    return [f"{type(step).__module__}.{type(step).__qualname__}" for step in causes(error)]


def frames(error: BaseException) -> list[str]:
    """Return file, line and function of each frame in the tracebacks of an error and its causes, outermost first."""
    summaries = [frame for step in causes(error) for frame in traceback.extract_tb(step.__traceback__)]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in summaries]


def causes(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, outermost first."""
    chain: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in chain:
        chain.append(step)
        step = step.__cause__ or step.__context__
    return chain


def timestamp() -> str:
    """Return the current time in the format of the log: UTC with milliseconds."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """Return the time without its fraction. Cached, because every request logs and formatting takes 1.5 µs."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _add_header(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return {"timestamp": timestamp(), "level": method, "event": event.pop("event", ""), **event}


def _describe_exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    exception = event.pop("exc_info", None)
    if exception is True:
        exception = sys.exc_info()
    error = exception[1] if isinstance(exception, tuple) else exception
    if isinstance(error, BaseException):
        event = {**event, "error": names(error), "trace": frames(error)}
    return event


def _renderer(output: Output) -> Callable[[WrappedLogger, str, EventDict], bytes]:
    return lambda _, __, event: output.render(event)


def _json_line(event: Mapping[str, Any]) -> bytes:
    """Return one JSON object in ASCII: some readers treat U+2028 as the end of a line."""
    try:
        line = orjson.dumps(event, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    except TypeError:
        line = b"\xff"  # A lone surrogate, which only the slower encoder can write.
    if not line.isascii() or b"\x7f" in line:  # DEL is the one control character that JSON may hold as it is.
        line = json.dumps(event, default=str).replace("\x7f", "\\u007f").encode() + b"\n"
    return line


def _console_line(event: Mapping[str, Any], *, renderer: structlog.dev.ConsoleRenderer) -> bytes:
    """Return a line for people, with the local time and the fields that matter during development.

    The trace of an error follows in lines of its own, which are indented.
    """
    hidden = _ONLY_OF_ERRORS if event["level"] not in ("error", "critical") else ()
    shown = {key: _escaped(value) for key, value in event.items() if key not in hidden and value is not None}
    shown["timestamp"] = f"{datetime.fromisoformat(event['timestamp']).astimezone():%H:%M:%S}"
    if trace := shown.pop("trace", ()):
        shown["stack"] = "\n".join(f"    {_escaped(frame)}" for frame in trace)
    return renderer(None, "", shown).encode("ascii", "backslashreplace") + b"\n"


def _escaped(value: Any) -> Any:
    """Return a text without control characters, which could begin a new line; the renderer escapes other values."""
    return value.encode("unicode_escape").decode() if isinstance(value, str) else value
