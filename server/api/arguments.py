"""Conversion of a request's parts to the handler's arguments, with checks of redirect targets and of the signature."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from connexion.operations import AbstractOperation

from domain import errors
from domain.oauth_clients.parameters import OAuthParameters, parameters_of
from domain.trusted_origins import TrustedOrigins
from server.api import request_body
from server.api.headers import RequestHeaders
from server.api.parameters import Parameters, compile_parameters
from server.api.scim_inputs import REQUEST, ScimInputs
from server.api.validation import Failures, Schema, refuse

Handler = Callable[..., Awaitable[Any]]

_REDIRECT_TARGET = "redirect-target"
"""The format of every field that holds a redirect target."""

_REFUSALS: dict[str, type[errors.Refusal]] = {
    "callbackURL": errors.InvalidCallbackUrl,
    "redirectTo": errors.InvalidRedirectUrl,
    "errorCallbackURL": errors.InvalidErrorCallbackUrl,
    "newUserCallbackURL": errors.InvalidNewUserCallbackUrl,
}

ENTRIES = "entries"
"""The query parameter with the encrypted values of a refused form. `PageResponder` reads it; handlers do not get it."""

PARAMETERS = "parameters"
"""The handler's argument in operations of the OAuth protocol: all parameters as they were sent."""

Targets = tuple[tuple[str, type[errors.Refusal]], ...]
"""The fields of the query or of the body that hold a redirect target, each with the error for an untrusted one."""


@dataclass(frozen=True, slots=True)
class OperationInputs:
    """The parameters and the body that an operation reads from a request, with their compiled schemas."""

    query: Parameters | None
    path: Parameters | None
    schema: Schema | None
    """The schema of the body; None if the operation reads none."""
    media_type: str
    reads_body: bool
    """Whether a body is read, and must have the right media type and form. A GET ignores its body."""
    always_reads: bool
    """Whether the contract has no 400 for this operation: a query with invalid parameters then counts as empty."""
    query_targets: Targets
    body_targets: Targets
    origins: TrustedOrigins
    without: dict[str, None] | None
    """The arguments of a request without a query, if the operation reads nothing else and requires no parameter."""

    def parse(self, raw: bytes, head: RequestHeaders) -> Any:
        """Return the parsed body, not yet validated. Raises UnsupportedMediaType, BadRequest."""
        return request_body.parse(raw, head, self.media_type)

    def arguments(self, query: bytes, captured: dict[str, str], content: Any, raw: bytes) -> dict[str, Any]:
        """Return the checked arguments of the handler by name.

        `captured` holds the values of the path template, `content` the parsed body, `raw` its bytes. Raises
        ValidationError naming every invalid field, and for an untrusted redirect target InvalidCallbackUrl,
        InvalidRedirectUrl, InvalidErrorCallbackUrl or InvalidNewUserCallbackUrl.
        """
        if not query and self.without is not None:
            return dict(self.without)
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
            check_targets(self.query_targets, self.origins, values)  # defence: V1 V2 M3 query-targets
            self.query.fill(arguments, values)
        if self.schema is not None:
            check_targets(self.body_targets, self.origins, content)  # defence: V2 V8 M3 body-targets
            arguments["body"] = content
        return arguments

    def shown_again(self, fields: Mapping[str, str], captured: dict[str, str]) -> dict[str, Any]:
        """Return the arguments of a page that is shown again after its form was refused.

        The form's `fields` take the place of the query; `captured` holds the values of the path template. Raises
        ValidationError, and for an untrusted redirect target the same errors as `arguments`.
        """
        failures: Failures = {}
        arguments: dict[str, Any] = {}
        if self.path is not None:
            found = self.path.read_path(captured)
            self.path.check(found, failures)
            self.path.fill(arguments, found)
        if self.query is None:
            refuse(failures)
            return arguments
        values = self.query.read_fields(fields, failures)
        self.query.check(values, failures)
        if failures and self.always_reads:
            values, failures = {}, {}
        refuse(failures)
        check_targets(self.query_targets, self.origins, values)
        self.query.fill(arguments, values)
        return arguments

    def _check_body(self, content: Any, raw: bytes, failures: Failures) -> None:
        # Types are checked before the redirect targets: a target that is a list or an object would crash that check.
        schema = self.schema or _ANY_OBJECT  # defence: R36 types
        if not schema.is_valid(content):  # defence: V9 types-first
            failures.update(schema.failures(content))
        # JSON escapes NUL, and a form percent-encodes it, so this search of the raw bytes finds the few bodies to
        # look through.
        if (b"\\u0000" in raw or b"%00" in raw) and isinstance(content, dict):
            failures.update(schema.nul_failures(content))  # defence: R32 nul


@dataclass(frozen=True, slots=True)
class ProtocolInputs:
    """Reads the inputs of an OAuth operation: its parameters, from the body of a POST or from the query.

    They are passed on unchecked: the code in `domain` validates them and raises the errors of the protocol.
    """

    reads_body: bool
    media_types: Sequence[str]
    query: None = None
    path: None = None

    def parse(self, raw: bytes, head: RequestHeaders) -> Any:
        """Return the parameters in the body. Raises UnsupportedMediaType, BadRequest."""
        if self.media_types == (request_body.JSON,):
            document = request_body.parse(raw, head, request_body.JSON)
            return OAuthParameters(document=document if isinstance(document, dict) else {})
        return parameters_of(request_body.parse_pairs(raw, head, self.media_types))

    def arguments(self, query: bytes, captured: dict[str, str], content: Any, raw: bytes) -> dict[str, Any]:
        """Return the parameters of the request by `PARAMETERS`.

        Those of a POST are in its body. They are marked as faulty if the query has one of the same name.
        """
        if self.reads_body and not query:
            return {PARAMETERS: content}
        in_query = _query_parameters(query)
        return {PARAMETERS: content.without(in_query) if self.reads_body else in_query}

    def shown_again(self, fields: Mapping[str, str], captured: dict[str, str]) -> dict[str, Any]:
        """Return no arguments, because an OAuth operation has no form that could be shown again."""
        return {}


def _query_parameters(query: bytes) -> OAuthParameters:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        return OAuthParameters(fault="The query is not UTF-8")
    return parameters_of(pairs)


_ANY_OBJECT = Schema("body", {"type": "object"})
"""The bodies accepted by operations that read none; the official client sends `{}` with every POST."""


Inputs = OperationInputs | ProtocolInputs | ScimInputs


def compile_inputs(operation: AbstractOperation, origins: TrustedOrigins) -> OperationInputs:
    """Compile the parameters and the body of an operation. Raises ValueError for unsupported schemas."""
    unreadable = [
        parameter["name"] for parameter in operation.parameters if parameter["in"] not in ("query", "path")
    ]
    media_types = operation.consumes or [request_body.JSON]
    if unreadable or len(media_types) != 1 or media_types[0] not in (request_body.JSON, request_body.FORM):
        raise ValueError(
            f"{operation.operation_id}: parameters {unreadable} or media types {media_types} are not read"
        )
    always_reads = "400" not in operation.responses
    query = compile_parameters("query", operation.parameters, takes_any_text=always_reads)
    path = compile_parameters("path", operation.parameters)
    reads_body = operation.method == "post"
    is_free = path is None and not reads_body and (query is None or not query.required)
    schema = _body_schema(operation, media_types[0])
    return OperationInputs(
        query=query,
        path=path,
        schema=schema,
        media_type=media_types[0],
        reads_body=reads_body,
        always_reads=always_reads,
        query_targets=compile_targets(query.schema.properties if query else {}),
        body_targets=compile_targets(schema.properties if schema else {}),
        origins=origins,
        without=dict.fromkeys(query.arguments.values() if query else ()) if is_free else None,
    )


def check_signature(handler: Handler, inputs: Inputs) -> None:
    """Check that a handler's parameters match the arguments of the operation. Raises TypeError if they differ."""
    taken = {"ctx"}
    if isinstance(inputs, ProtocolInputs):
        taken.add(PARAMETERS)
    if isinstance(inputs, ScimInputs):
        taken.add(REQUEST)
    for parameters in (inputs.query, inputs.path):
        taken.update(parameters.arguments.values() if parameters else ())
    taken.discard(ENTRIES)
    if isinstance(inputs, OperationInputs) and inputs.schema is not None:
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


def compile_targets(properties: dict[str, Any]) -> Targets:
    """Return the redirect targets among the properties of a schema. Raises ValueError if one has no error class."""
    names = [name for name, schema in properties.items() if _is_target(schema)]
    unknown = sorted(set(names) - set(_REFUSALS))
    if unknown:
        raise ValueError(f"no refusal exists for the redirect targets {unknown}")
    return tuple((name, _REFUSALS[name]) for name in names)  # defence: V2 V8 target-fields


def check_targets(targets: Targets, origins: TrustedOrigins, values: dict[str, Any]) -> None:
    """Check that the redirect targets in `values` are trusted; delete empty ones from `values`.

    For an untrusted target, raises its error: InvalidCallbackUrl, InvalidRedirectUrl, InvalidErrorCallbackUrl or
    InvalidNewUserCallbackUrl.
    """
    for name, refusal in targets:
        target = values.get(name)
        if target is None:
            continue
        if target == "":
            del values[name]
        elif not origins.accepts(target):
            raise refusal


def _is_target(schema: dict[str, Any]) -> bool:
    return any(part.get("format") == _REDIRECT_TARGET for part in (schema, *schema.get("allOf", ())))
