"""From the parts of a request to the handler's arguments, and the promise that the handler takes them."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from connexion.operations import AbstractOperation

from domain.origins import TrustedOrigins
from server.pipeline import body, targets
from server.pipeline.head import Head
from server.pipeline.parameters import Parameters, compile_parameters
from server.pipeline.targets import Targets
from server.pipeline.validation import Failures, Schema, refuse

Handler = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything an operation reads from a request, with its compiled schemas."""

    query: Parameters | None
    path: Parameters | None
    schema: Schema | None
    """Of the body; None when the operation reads none."""
    media_type: str
    reads_body: bool
    """Whether a body that is sent must be of the right form; on GET it is ignored instead."""
    always_reads: bool
    """Whether the contract has no 400 here: a query with parameters that cannot be read counts as empty then."""
    query_targets: Targets
    body_targets: Targets
    origins: TrustedOrigins
    without: dict[str, None] | None
    """The arguments of a request without a query, where nothing but that could be read and nothing is required."""

    def arguments(self, query: bytes, captured: dict[str, str], head: Head, raw: bytes) -> dict[str, Any]:
        """Give the handler's arguments by name; everything in them is checked.

        `raw` is the body as sent. Raises UnsupportedMediaType, BadRequest, ValidationError naming every field
        that failed, and the refusals of redirect targets.
        """
        if not query and self.without is not None:
            return dict(self.without)
        return self._checked(
            query, captured, body.parse(raw, head, self.media_type) if self.reads_body else {}, raw
        )

    def _checked(self, query: bytes, captured: dict[str, str], content: Any, raw: bytes) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        failures: Failures = {}
        values: dict[str, Any] = {}
        if self.path is not None:
            found = self.path.read_path(captured)
            self.path.check(found, failures)
            self.path.fill(arguments, found)
        if self.query is not None and (query or self.query.required):
            values = self.query.read_query(query, failures)
            self.query.check(values, failures)
            if failures and self.always_reads:
                values, failures = {}, {}
        if self.reads_body:
            self._check_body(content, raw, failures)
        refuse(failures)
        if self.query is not None:
            targets.check(self.query_targets, self.origins, values)
            self.query.fill(arguments, values)
        if self.schema is not None:
            targets.check(self.body_targets, self.origins, content)
            arguments["body"] = content
        return arguments

    def _check_body(self, content: Any, raw: bytes, failures: Failures) -> None:
        schema = self.schema or _ANY_OBJECT
        if not schema.is_valid(content):
            failures.update(schema.failures(content))
        if (b"\\u0000" in raw or b"%00" in raw) and isinstance(content, dict):
            failures.update(schema.nul_failures(content))


_ANY_OBJECT = Schema("body", {"type": "object"})
"""What a POST may carry whose operation reads no body; the official client sends `{}` with every one."""


def compile_inputs(operation: AbstractOperation, origins: TrustedOrigins) -> Inputs:
    """Compile the parameters and the body of an operation. Raises ValueError for what the pipeline cannot read."""
    unreadable = [
        parameter["name"] for parameter in operation.parameters if parameter["in"] not in ("query", "path")
    ]
    media_types = operation.consumes or [body.JSON]
    if unreadable or len(media_types) != 1 or media_types[0] not in (body.JSON, body.FORM):
        raise ValueError(
            f"{operation.operation_id}: parameters {unreadable} or media types {media_types} are not read"
        )
    always_reads = "400" not in operation.responses
    query = compile_parameters("query", operation.parameters, takes_any_text=always_reads)
    path = compile_parameters("path", operation.parameters)
    reads_body = operation.method == "post"
    is_free = path is None and not reads_body and (query is None or not query.required)
    schema = _body_schema(operation, media_types[0])
    return Inputs(
        query=query,
        path=path,
        schema=schema,
        media_type=media_types[0],
        reads_body=reads_body,
        always_reads=always_reads,
        query_targets=targets.compile_targets(query.schema.properties if query else {}),
        body_targets=targets.compile_targets(schema.properties if schema else {}),
        origins=origins,
        without=dict.fromkeys(query.arguments.values() if query else ()) if is_free else None,
    )


def check_signature(handler: Handler, inputs: Inputs) -> None:
    """Compare a handler's parameters with what it will be called with. Raises TypeError when they differ."""
    taken = {"ctx"}
    for parameters in (inputs.query, inputs.path):
        taken.update(parameters.arguments.values() if parameters else ())
    if inputs.schema is not None:
        taken.add("body")
    if not inspect.iscoroutinefunction(handler):
        raise TypeError(f"{handler.__module__}.{handler.__qualname__} is not an async function")
    if set(inspect.signature(handler).parameters) != taken:
        raise TypeError(f"{handler.__module__}.{handler.__qualname__} must take exactly {sorted(taken)}")


def _body_schema(operation: AbstractOperation, media_type: str) -> Schema | None:
    if not operation.is_request_body_defined:
        return None
    schema = {key: part for key, part in operation.body_schema(media_type).items() if key != "components"}
    return Schema("body", {"type": "object", **schema})
