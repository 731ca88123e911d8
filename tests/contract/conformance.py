"""The contract as a referee: every answer the suite sees is held against what openapi/ promises for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httpx
import orjson
from jsonschema_rs import Draft202012Validator

from codegen.bundle import EXTENSION, bundle
from codegen.version_3_1 import to_3_1
from codegen.walk import operations, page_tags, resolve
from tests.contract.json_schemas import with_components

HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
"""What every answer carries, whatever it is."""

_EXTENSIONS = [(one.path, one.spec.get(EXTENSION, {})) for one in operations(bundle(internal=True))]

DOCUMENT_PATHS = frozenset(path for path, said in _EXTENSIONS if said.get("publicDocument"))
"""Public documents, which say themselves how long caches may keep them."""

_ORIGIN_PATHS = frozenset(path for path, said in _EXTENSIONS if said.get("atOrigin"))
"""The paths that are also at the root of the origin, with the base path at their end."""

WITHOUT_FORMS = {"mailbox"}
"""The tags of pages without forms. Other forms must say to the service where they come from."""

HEAD_PATHS = frozenset(path for path, said in _EXTENSIONS if said.get("answersHead"))
"""Where HEAD is answered like GET, without the body."""

_PARAMETER = re.compile(r"\{[^{}]+\}")


@dataclass(frozen=True, slots=True)
class ResponseRules:
    """What the contract says of one operation's answer with one status."""

    media_types: frozenset[str]
    validator: Draft202012Validator | None
    """Only for JSON."""
    codes: frozenset[str]
    """The error codes documented for this status; empty for a success."""
    headers: frozenset[str]
    """The headers that must be there, in lower case."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was seen; `what` begins every complaint about it."""

    what: str
    method: str
    status: int
    headers: httpx.Headers
    body: bytes


class Contract:
    """A bundled document, ready to judge answers. `check` is all there is to call."""

    def __init__(self, document: dict[str, Any]) -> None:
        converted = document if document["openapi"].startswith("3.1") else to_3_1(document)
        self._base_path = converted["servers"][0]["url"].rstrip("/")
        self._document = converted
        self._operations: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
        for operation in operations(converted):
            responses = {int(status): one for status, one in operation.spec["responses"].items()}
            self._operations.setdefault(operation.path, {})[operation.method.upper()] = responses
        # Made when an answer needs them: those of the whole contract take longer than most files of tests.
        self._rules: dict[tuple[str, str, int], ResponseRules] = {}
        tags = page_tags(converted) - WITHOUT_FORMS
        self._pages = {"/error"} | {
            operation.path for operation in operations(converted) if operation.spec["tags"][0] in tags
        }
        self._patterns = {path: _pattern(path) for path in self._operations if "{" in path}
        error = with_components({"$ref": "#/components/schemas/Error"}, converted)
        self._error = Draft202012Validator(error, validate_formats=True)

    def codes(self, method: str, path: str, *statuses: int) -> frozenset[str]:
        """Return the error codes that are documented for an operation with these statuses."""
        documented = self._operations[path][method.upper()].keys()
        known = [status for status in statuses if status in documented]
        return frozenset().union(*(self._rules_of(path, method.upper(), status).codes for status in known))

    def check(self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Raise an AssertionError that says what is wrong with this answer.

        `path` is a real, encoded path without the query, or a template. The service's own documents
        (`/`, `/openapi.json`, `/docs`, …) are no operations, and are let through.
        """
        if self._is_document(path):
            return
        answer = Answer(f"{method} {path} answered {status}", method, status, httpx.Headers(headers), body)
        template = self._template(path)
        _check_headers(answer, may_be_kept=template in DOCUMENT_PATHS and status in (200, 304))
        # With no-referrer, browsers would send `Origin: null` with the forms of pages.
        is_error = status >= 400 and answer.headers.get("content-type") == "application/json"
        # An address below the hosted pages that is none of them is answered with a page, too.
        is_no_page = (
            template is None
            and path.startswith((f"{self._base_path}/account/", f"{self._base_path}/console/"))
            and not is_error
        )
        # An endpoint that programs send browsers to shows a page when the service fails.
        is_error_page = status >= 400 and answer.headers.get("content-type", "").startswith("text/html")
        is_page = is_no_page or is_error_page or (template in self._pages and not is_error)
        referrer = "same-origin" if is_page and method != "OPTIONS" and status != 405 else "no-referrer"
        assert answer.headers.get("referrer-policy") == referrer, f"{answer.what}: referrer-policy"
        if is_no_page:
            assert status == 404, f"{answer.what}: no such page, so this is a 404"
        elif template is None:
            self._check_refusal(answer, 404, "NOT_FOUND")
        elif method == "OPTIONS":
            assert (status, body) == (204, b""), f"{answer.what}: OPTIONS is answered by an empty 204"
        elif method not in (documented := self._operations[template]):
            self._check_undocumented_method(answer, template)
        else:
            assert status in documented[method], (
                f"{answer.what}: documented are {sorted(documented[method])}; {body!r}"
            )
            _check_answer(answer, self._rules_of(template, method, status))

    def _rules_of(self, template: str, method: str, status: int) -> ResponseRules:
        key = (template, method, status)
        if key not in self._rules:
            response = resolve(self._document, self._operations[template][method][status])
            self._rules[key] = _of_response(status, response, self._document)
        return self._rules[key]

    def _template(self, path: str) -> str | None:
        """The path template that a real path (or a template itself) belongs to."""
        if path.endswith(self._base_path) and path.removesuffix(self._base_path) in _ORIGIN_PATHS:
            return path.removesuffix(self._base_path)
        if not path.startswith(f"{self._base_path}/"):
            return None
        path = path.removeprefix(self._base_path)
        if path in self._operations:
            return path
        segments = [unquote(segment) for segment in path.split("/")[1:]]
        if any(segment in {"", ".", ".."} or "/" in segment or "\\" in segment for segment in segments):
            return None
        decoded = "/" + "/".join(segments)
        if decoded in self._operations and "{" not in decoded:
            return decoded
        return next(
            (template for template, pattern in self._patterns.items() if pattern.fullmatch(decoded)), None
        )

    def _is_document(self, path: str) -> bool:
        documents = r"(/(openapi(-clients)?\.json|docs(/.*)?|account/static/.*|favicon\.ico)?)?"
        return re.fullmatch(re.escape(self._base_path) + documents, path) is not None

    def _check_undocumented_method(self, answer: Answer, template: str) -> None:
        if answer.method == "HEAD" and template in HEAD_PATHS:
            assert answer.status in self._operations[template]["GET"], (
                f"{answer.what}: HEAD answers what GET does"
            )
            assert answer.body == b"", f"{answer.what}: an answer to HEAD has no body"
            return
        assert "allow" in answer.headers, f"{answer.what}: a 405 names the methods there are in Allow"
        self._check_refusal(answer, 405, "METHOD_NOT_ALLOWED")

    def _check_refusal(self, answer: Answer, status: int, code: str) -> None:
        assert answer.status == status, (
            f"{answer.what}: no such operation, so this is a {status}; {answer.body!r}"
        )
        if answer.method == "HEAD":
            assert answer.body == b"", f"{answer.what}: an answer to HEAD has no body"
            return
        _check_body(answer, self._error)
        assert orjson.loads(answer.body)["code"] == code, (
            f"{answer.what}: the code is {code}, not {answer.body!r}"
        )


class CheckingTransport(httpx.AsyncBaseTransport):
    """A transport that holds every answer of another one against the contract before the client sees it."""

    def __init__(self, inner: httpx.AsyncBaseTransport, contract: Contract) -> None:
        self._inner = inner
        self._contract = contract

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        body = await response.aread()
        path = request.url.raw_path.partition(b"?")[0].decode("ascii")
        self._contract.check(request.method, path, response.status_code, response.headers, body)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _pattern(template: str) -> re.Pattern[str]:
    literals = [re.escape(literal) for literal in _PARAMETER.split(template)]
    return re.compile("[^/]+".join(literals), re.DOTALL)


def _of_response(status: int, response: dict[str, Any], document: dict[str, Any]) -> ResponseRules:
    content = response.get("content", {})
    json = content.get("application/json")
    return ResponseRules(
        media_types=frozenset(content),
        validator=json
        and Draft202012Validator(with_components(json["schema"], document), validate_formats=True),
        codes=_codes(json, document) if json and status >= 400 else frozenset(),
        headers=frozenset(
            name.lower()
            for name, header in response.get("headers", {}).items()
            if resolve(document, header).get("required")
        ),
    )


def codes_of(operation: dict[str, Any], status: int, document: dict[str, Any]) -> frozenset[str]:
    """Return the error codes that an operation documents for a status."""
    response = operation["responses"].get(str(status))
    json = resolve(document, response).get("content", {}).get("application/json") if response else None
    return _codes(json, document) if json else frozenset()


def _codes(media: dict[str, Any], document: dict[str, Any]) -> frozenset[str]:
    return frozenset(code_of(body) for body in refusals(media, document).values())


def code_of(body: dict[str, Any]) -> str:
    """Return the code of an error, or the name of one of the OAuth protocol."""
    code: str = body["code"] if "code" in body else body["error"]
    return code


def refusals(media: dict[str, Any], document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The error bodies an answer's media type object documents, by the names of their examples."""
    if "example" in media:
        return {code_of(media["example"]): media["example"]}
    return {name: resolve(document, example)["value"] for name, example in media.get("examples", {}).items()}


def _check_headers(answer: Answer, *, may_be_kept: bool) -> None:
    for name, value in HEADERS.items():
        if name == "cache-control" and may_be_kept:
            continue
        found = answer.headers.get(name)
        assert found == value, f"{answer.what}: {name} is {found!r}, not {value!r}"
    assert "Origin" in answer.headers.get("vary", ""), f"{answer.what}: Vary does not name Origin"
    assert answer.headers.get("x-request-id"), f"{answer.what}: X-Request-Id is missing"
    assert "server" not in answer.headers, f"{answer.what}: the Server header tells what runs here"


def _check_answer(answer: Answer, expected: ResponseRules) -> None:
    missing = [name for name in expected.headers if name not in answer.headers]
    assert not missing, f"{answer.what}: headers are missing: {missing}"
    if not expected.media_types:
        assert answer.body == b"", f"{answer.what}: the contract has no body here, not {answer.body!r}"
        return
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    wanted = sorted(expected.media_types)
    assert media_type in wanted, f"{answer.what}: {media_type!r} instead of {wanted}"
    if expected.validator is None or media_type != "application/json":
        return
    _check_body(answer, expected.validator)
    if expected.codes:
        error = orjson.loads(answer.body)
        code = code_of(error)
        assert ("fields" in error) == (code == "VALIDATION_ERROR"), (
            f"{answer.what}: VALIDATION_ERROR has fields, and no other code has; {answer.body!r}"
        )
        assert code in expected.codes, (
            f"{answer.what}: {code} is not documented here, but {sorted(expected.codes)}"
        )


def _check_body(answer: Answer, validator: Draft202012Validator) -> None:
    try:
        value = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise AssertionError(f"{answer.what}: the body is no JSON: {answer.body!r}") from error
    faults = [
        f"{'.'.join(map(str, fault.instance_path))}: {fault.message}"
        for fault in validator.iter_errors(value)
    ]
    assert not faults, f"{answer.what}: {'; '.join(faults)}; {answer.body!r}"
