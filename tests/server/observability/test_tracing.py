"""Traces as a receiver gets them, and a receiver that is away, of the service on both databases."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import run
from threading import Condition, Thread
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from server.app import assemble
from server.observability.tracing import tracing_of
from server.services import Services, load_settings
from tests.live import ROOT, serving
from tests.ports import free_port
from tests.server.terminal import complaint
from tests.service import BASE_URL, PASSWORD, environment

TIMEOUT = 60.0
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{PARENT}-01"
NEW = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}

Tracer = Callable[..., Awaitable[httpx.AsyncClient]]


@dataclass
class Receiver:
    """A server that takes traces, and keeps them."""

    bodies: list[bytes] = field(default_factory=list)
    grown: Condition = field(default_factory=Condition)
    url: str = ""

    @property
    def spans(self) -> list[Span]:
        """What was received."""
        requests = map(ExportTraceServiceRequest.FromString, self.bodies)
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def wait_for(self, name: str) -> Span:
        """Return the last span of a name, once there is one."""
        with self.grown:
            assert self.grown.wait_for(lambda: name in [span.name for span in self.spans], TIMEOUT), (
                self.spans
            )
            return [span for span in self.spans if span.name == name][-1]

    def below(self, span: Span) -> list[str]:
        """Return the names of a span's parts."""
        return [part.name for part in self.spans if part.parent_span_id == span.span_id]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with kept.grown:
                kept.bodies.append(body)
                kept.grown.notify_all()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield kept
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
async def traced(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tracer]:
    """Yield a client of a service that sends its traces to an address."""
    async with AsyncExitStack() as ends:

        async def make(endpoint: str, **more: str) -> httpx.AsyncClient:
            url = f"sqlite:///{tmp_path / 'gatewright.db'}"
            if dialect == "postgresql":
                url = request.getfixturevalue("cluster").create(migrated=True)
            chosen = {"tracing.endpoint": endpoint, **more}
            settings = load_settings(environment(url, tmp_path / "mail.jsonl", chosen), tmp_path)
            services = Services(settings, tracing=tracing_of(settings))
            app = assemble(services)
            await services.open()
            ends.push_async_callback(services.close)
            transport = httpx.ASGITransport(app)
            return await ends.enter_async_context(httpx.AsyncClient(transport=transport, base_url=BASE_URL))

        yield make


def attributes(span: Span) -> dict[str, Any]:
    """Return what a span says."""
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


class TestSpans:
    async def test_a_request_is_one_whose_parts_are_hashes_and_the_database(
        self, traced: Tracer, receiver: Receiver
    ) -> None:
        client = await traced(receiver.url)

        signed_up = await client.post("/sign-up/email", json=NEW)
        token = {"Authorization": f"Bearer {signed_up.json()['token']}"}
        answer = await client.get("/get-session", headers={"traceparent": SAMPLED, **token})

        signing_up = receiver.wait_for("authentication.sign_up_email")
        span = receiver.wait_for("sessions.get_current")
        assert attributes(span) == {
            "http.request.method": "GET",
            "http.response.status_code": 200,
            "gatewright.operation": "sessions.get_current",
            "gatewright.request_id": answer.headers["x-request-id"],
        }
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
        assert span.kind == Span.SPAN_KIND_SERVER
        assert {"hash", "database INSERT"} <= set(receiver.below(signing_up))
        assert receiver.below(span) == ["database read"]

    @pytest.mark.long
    def test_so_it_is_behind_the_server_of_ours(self, receiver: Receiver, tmp_path: Path) -> None:
        with serving(tmp_path, {"tracing.endpoint": receiver.url}) as live:
            answer = httpx.get(f"{live.url}/get-session")
            span = receiver.wait_for("sessions.get_current")

        told = attributes(span)
        assert told["http.response.status_code"] == 401
        assert told["gatewright.request_id"] == answer.headers["x-request-id"]

    async def test_a_provider_that_is_away_is_a_failed_part(self, traced: Tracer, receiver: Receiver) -> None:
        client = await traced(
            receiver.url,
            **{
                "providers.away.client_id": "x",
                "providers.away.client_secret": "x",
                "providers.away.discovery_url": f"http://127.0.0.1:{free_port()}/.well-known/openid-configuration",
            },
        )

        await client.post("/sign-in/social", json={"provider": "away", "callbackURL": "/"})

        span = receiver.wait_for("provider away")
        assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "")
        assert not span.events
        assert attributes(span) == {"error.type": "ProviderError"}
        request = receiver.wait_for("social.sign_in")
        assert request.status.code == Status.STATUS_CODE_ERROR
        assert span.parent_span_id == request.span_id

    async def test_nothing_that_was_sent_stands_in_them(self, traced: Tracer, receiver: Receiver) -> None:
        client = await traced(receiver.url)

        await client.post("/sign-up/email", json=NEW, headers={"User-Agent": "a-certain-agent"})
        await client.post("/sign-in/email", json={**NEW, "password": "a wrong one"})
        await client.get("/reset-password/a-certain-token?callbackURL=/a-certain-path")
        await client.request("PURGE", "/a-certain-path", headers={"traceparent": "00-a-certain-parent"})
        await client.get("/ok")

        receiver.wait_for("service.check_health")
        sent = b"".join(receiver.bodies)
        for secret in (b"ada@", PASSWORD.encode(), b"a wrong one", b"a-certain", b"PURGE"):
            assert secret not in sent
        assert "_OTHER" in [attributes(span).get("http.request.method") for span in receiver.spans]

    async def test_the_caller_decides_before_the_setting(self, traced: Tracer, receiver: Receiver) -> None:
        client = await traced(receiver.url, **{"tracing.ratio": "0"})

        await client.get("/error")
        await client.get("/ok", headers={"traceparent": SAMPLED})

        receiver.wait_for("service.check_health")
        assert [span.name for span in receiver.spans if not span.parent_span_id] == []


async def test_a_receiver_that_is_away_hinders_nothing(traced: Tracer) -> None:
    client = await traced(f"http://127.0.0.1:{free_port()}/v1/traces")

    answers = [await client.get("/ok") for _ in range(100)]

    assert {answer.status_code for answer in answers} == {200}


@pytest.mark.long
class TestWithout:
    def test_nothing_is_imported(self) -> None:
        look = (
            "import server.app, server.http.server, sys;"
            " print('server.observability.opentelemetry' in sys.modules, 'opentelemetry.sdk.trace' in sys.modules)"
        )

        printed = run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout

        # The Redis client looks for a part of OpenTelemetry of its own accord, which is none of ours.
        assert printed == "False False\n"

    def test_an_endpoint_without_the_extra_is_refused(self, tmp_path: Path) -> None:
        hide = "import sys; sys.modules['opentelemetry.sdk'] = None"
        without = f"{hide}; from server.cli.main import app; app(['check-config'])"
        endpoint = {"GATEWRIGHT_TRACING__ENDPOINT": "http://127.0.0.1:4318/v1/traces"}

        done = run(
            [sys.executable, "-c", without],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "GATEWRIGHT_PROFILE": "development", **endpoint},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 1
        needed = "tracing.endpoint: needs OpenTelemetry; install it with: pip install 'gatewright[otel]'"
        assert complaint(done.stderr) == needed
