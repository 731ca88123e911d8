"""Spans for OpenTelemetry, sent by OTLP over HTTP from a thread of their own. Needs the extra `otel`.

A span holds names of this program, statuses and times: no path, query, address, token, SQL text or exception text. The
caller's `traceparent` (W3C Trace Context) is believed; identity providers are not told of it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TypeVar

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import Span, SpanKind, StatusCode, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.ports import Hasher, Reads
from models.queries import ReadStatement

Result = TypeVar("Result")

SEND_WITHIN = 3.0
"""Seconds one batch may take; a receiver that is away costs the service some memory and no request anything."""

SEND_EVERY = 1000
"""Milliseconds between two batches."""

FAREWELL = 3.0
"""Seconds for what is still unsent when the service stops."""

_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS"})
_propagator = TraceContextTextMapPropagator()


class OpenTelemetryTracing:
    """The spans of one process. Implements `server.observability.tracing.Tracing`."""

    def __init__(self, endpoint: str, ratio: float) -> None:
        """Take where to send to, and which part of the requests to trace that nobody has decided on."""
        about = Resource.create({"service.name": "gatewright", "service.version": version("gatewright")})
        self._provider = TracerProvider(ParentBasedTraceIdRatio(ratio), about, shutdown_on_exit=False)
        self._exporter = OTLPSpanExporter(endpoint, timeout=SEND_WITHIN)
        self._provider.add_span_processor(
            BatchSpanProcessor(self._exporter, schedule_delay_millis=SEND_EVERY)
        )
        self._tracer = self._provider.get_tracer("gatewright")

    def around(self, api: ASGIApp) -> ASGIApp:
        """Give the application with a span around each request."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await api(scope, receive, send)
                return
            began = self._tracer.start_as_current_span(
                "request",
                context=_caller(scope),
                kind=SpanKind.SERVER,
                attributes={"http.request.method": _method(scope)},
                record_exception=False,  # Texts of exceptions may hold passwords, tokens or SQL.
                set_status_on_exception=False,
            )
            with began as span:
                await api(scope, receive, partial(_send, span, send))

        return traced

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Name the span of the request that has just been answered."""
        if operation is not None:
            span = get_current_span()
            span.update_name(operation)
            span.set_attribute("gatewright.operation", operation)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Begin a part of the request that is under way; one that fails is marked."""
        with self._span(name, SpanKind.INTERNAL):
            yield

    @contextmanager
    def _span(self, name: str, kind: SpanKind) -> Iterator[None]:
        with self._tracer.start_as_current_span(
            name, kind=kind, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as fault:
                _mark(span, fault)
                raise

    def hasher(self, hasher: Hasher) -> Hasher:
        """Give a hasher with a span around each hash."""
        return _TracedHasher(self, hasher)

    def reads(self, reads: Reads) -> Reads:
        """Give reads with a span around each."""
        return _TracedReads(self, reads)

    @contextmanager
    def statement(self, sql: str, arguments: Sequence[object]) -> Iterator[None]:
        """Begin the span of a statement, named by its first word alone; one that fails is marked."""
        # Statements are this program's own, and so is their first word; values never stand in it.
        with self._span(f"database {sql.lstrip().partition(' ')[0].upper()}", SpanKind.CLIENT):
            yield

    async def close(self) -> None:
        """Send what is still unsent, and end, whatever the receiver does."""
        ending = asyncio.ensure_future(asyncio.to_thread(self._provider.shutdown))
        await asyncio.wait({ending}, timeout=FAREWELL)
        if not ending.done():
            self._exporter.shutdown()  # type: ignore[no-untyped-call]
        await ending


@dataclass(frozen=True, slots=True)
class _TracedHasher:
    """Implements `domain.ports.Hasher`."""

    spans: OpenTelemetryTracing
    hasher: Hasher

    @property
    def hash_params(self) -> str:
        return self.hasher.hash_params

    def admission(self) -> AbstractAsyncContextManager[None]:
        return self.hasher.admission()

    async def hash(self, password: str) -> str:
        with self.spans.span("hash"):
            return await self.hasher.hash(password)

    async def verify(self, password: str, hashed: str | None) -> bool:
        with self.spans.span("hash"):
            return await self.hasher.verify(password, hashed)

    async def hash_code(self, code: str, salt: bytes, params: str) -> bytes:
        with self.spans.span("hash"):
            return await self.hasher.hash_code(code, salt, params)

    def needs_rehash(self, hashed: str) -> bool:
        return self.hasher.needs_rehash(hashed)


@dataclass(frozen=True, slots=True)
class _TracedReads:
    """Implements `domain.ports.Reads`."""

    spans: OpenTelemetryTracing
    within: Reads

    async def one(self, query: ReadStatement[Result], value: object) -> Result | None:
        with self.spans.span("database read"):
            return await self.within.one(query, value)

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        with self.spans.span("database read"):
            return await self.within.each(query, values)

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        with self.spans.span("database read"):
            return await self.within.all(query, value)


async def _send(span: Span, send: Send, message: Message) -> None:
    """Note the status of an answer, and the id that its line in the log has, too.

    One message of an answer has a status: the start, or the whole where the server takes it as one message.
    """
    if "status" in message:
        status = message["status"]
        span.set_attribute("http.response.status_code", status)
        request_id = message.get("request_id") or next(
            (value for name, value in message["headers"] if name == b"x-request-id"), b""
        )
        span.set_attribute("gatewright.request_id", request_id.decode("ascii", "replace"))
        if status >= 500:
            span.set_status(StatusCode.ERROR)
    await send(message)


def _caller(scope: Scope) -> Context:
    """Give what the caller said of the trace the request belongs to; what is malformed counts as nothing."""
    said = [value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"]
    return _propagator.extract({"traceparent": said[0]} if len(said) == 1 else {}, context=Context())


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in _METHODS else "_OTHER"


def _mark(span: Span, fault: BaseException) -> None:
    span.set_attribute("error.type", type(fault).__name__)
    span.set_status(StatusCode.ERROR)
