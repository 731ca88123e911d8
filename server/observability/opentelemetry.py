"""Spans for OpenTelemetry, sent by OTLP over HTTP from a thread of their own. Needs the extra `otel`.

A span holds names of this program, statuses and times: no path, query, network address, token, SQL text or exception
text. Therefore the instrumentation packages of OpenTelemetry are not used: they record URLs, queries, addresses and
statements, and offer no switch for it. A caller's `traceparent` (W3C Trace Context) is accepted; identity providers get
none.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
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

from domain.ports import Reads
from models.queries import ReadStatement

Result = TypeVar("Result")
Other = TypeVar("Other")

TIMEOUT = 3.0
"""Timeout in seconds for sending one batch of spans, and for sending the remaining spans when the service stops."""

_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS"})
_propagator = TraceContextTextMapPropagator()


class OpenTelemetryTracing:
    """The tracer of one process: it begins spans and sends them to a receiver."""

    def __init__(self, endpoint: str, ratio: float) -> None:
        """Create the tracer. `endpoint` is the URL of the receiver, `ratio` the share of requests that are traced.

        A request with the header `traceparent` is traced if that header says so.
        """
        resource = Resource.create({"service.name": "gatewright", "service.version": version("gatewright")})
        # The service shuts the provider down itself, within a timeout.
        self._provider = TracerProvider(ParentBasedTraceIdRatio(ratio), resource, shutdown_on_exit=False)
        self._exporter = OTLPSpanExporter(endpoint, timeout=TIMEOUT)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter, schedule_delay_millis=1000))
        self._tracer = self._provider.get_tracer("gatewright")

    def instrument(self, api: ASGIApp) -> ASGIApp:
        """Return the application with a span around each request."""

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await api(scope, receive, send)
                return
            # `_OTHER` is OpenTelemetry's name for unknown methods; a span must not contain what clients send.
            method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
            with self.span("request", SpanKind.SERVER, _caller(scope)) as span:
                span.set_attribute("http.request.method", method)
                await api(scope, receive, partial(_send, span, send))

        return traced

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Set the operationId as the name of the current span, which is that of the request just answered."""
        if operation is not None:
            span = get_current_span()
            span.update_name(operation)
            span.set_attribute("gatewright.operation", operation)

    @contextmanager
    def span(
        self, name: str, kind: SpanKind = SpanKind.INTERNAL, parent: Context | None = None
    ) -> Iterator[Span]:
        """Run the `with` block in a span, by default a child of the current span.

        If the block raises an exception, the span gets the status of an error.
        """
        with self._tracer.start_as_current_span(
            name,
            parent,
            kind,
            record_exception=False,  # Texts of exceptions may hold passwords, tokens or SQL.
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    def statement(self, sql: str, arguments: Sequence[object]) -> AbstractContextManager[Span]:
        """Return a context manager that runs its block in the span of a SQL statement.

        Of the statement, only the first word is recorded.
        """
        return self.span(f"database {sql.lstrip().partition(' ')[0].upper()}", SpanKind.CLIENT)

    def reads(self, reads: Reads) -> Reads:
        """Return an object with the same methods as `reads`, each of which runs in a span."""
        return _TracedReads(self, reads)

    async def close(self) -> None:
        """Send the remaining spans, and stop. If the receiver does not respond, they are dropped after `TIMEOUT`."""
        ending = asyncio.ensure_future(asyncio.to_thread(self._provider.shutdown))
        await asyncio.wait({ending}, timeout=TIMEOUT)
        if not ending.done():
            self._exporter.shutdown()
        await ending


@dataclass(frozen=True, slots=True)
class _TracedReads:
    """Implements `domain.ports.Reads`."""

    tracing: OpenTelemetryTracing
    within: Reads

    async def one(self, query: ReadStatement[Result], value: object) -> Result | None:
        with self.tracing.span("database read"):
            return await self.within.one(query, value)

    async def two(
        self, first: ReadStatement[Result], value: object, second: ReadStatement[Other], other: object
    ) -> tuple[Result | None, Other | None]:
        with self.tracing.span("database read"):
            return await self.within.two(first, value, second, other)

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        with self.tracing.span("database read"):
            return await self.within.each(query, values)

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        with self.tracing.span("database read"):
            return await self.within.all(query, value)


async def _send(span: Span, send: Send, message: Message) -> None:
    """Record status and request id from the message that begins the response, and send it."""
    if "status" in message:
        status = message["status"]
        span.set_attribute("http.response.status_code", status)
        request_id = message.get("request_id") or dict(message["headers"]).get(b"x-request-id", b"")
        span.set_attribute("gatewright.request_id", request_id.decode("ascii", "replace"))
        if status >= 500:
            span.set_status(StatusCode.ERROR)
    await send(message)


def _caller(scope: Scope) -> Context:
    """Return the context in `traceparent`; an empty context if it is missing, malformed or repeated."""
    sent = [value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"]
    return _propagator.extract({"traceparent": sent[0]} if len(sent) == 1 else {}, context=Context())
