"""Routing by path and method: a dictionary for fixed paths, patterns for path templates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.types import Scope

from domain import errors
from server.api.extension import OperationExtension
from server.api.request import Operation

_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_ENCODED_SEPARATOR = re.compile(rb"%2f|%5c", re.IGNORECASE)
_DOT_SEGMENTS = frozenset({".", ".."})


@dataclass(slots=True)
class Route:
    """One path of the contract: its operationIds by method, and the value of its Allow header."""

    names: dict[str, str] = field(default_factory=dict)
    allow: str = "OPTIONS"
    accepts_any_origin: bool = False
    """Whether pages of every origin may call an operation of this path, without credentials."""

    def add(self, method: str, operation_id: str, extension: OperationExtension) -> None:
        """Add an operation; a GET without side effects also handles HEAD."""
        self.names[method] = operation_id
        if method == "GET" and extension.answers_head:  # defence: R39 head-method
            self.names["HEAD"] = operation_id
        self.accepts_any_origin |= extension.any_origin
        self.allow = ", ".join([*sorted(self.names), "OPTIONS"])


class Routes:
    """All enabled paths. Paths match exactly and case-sensitively after percent-decoding."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        """Create an empty table of routes; `operations` has the operations by operationId."""
        self._operations = operations
        self._fixed: dict[str, Route] = {}
        self._templated: dict[str, tuple[re.Pattern[str], Route]] = {}
        self.words: set[str] = set()
        """All segments of the paths; the access log shows only these words of an unknown path."""

    def add(self, path: str, method: str, operation_id: str, extension: OperationExtension) -> None:
        """Add an operation. `path` is a path template of the contract, base path included."""
        if _TEMPLATE.search(path) is None:
            place = self._fixed.setdefault(path, Route())
        else:
            _, place = self._templated.setdefault(path, (_pattern(path), Route()))
        place.add(method, operation_id, extension)
        # The access log shows these words of an unknown path and masks all others, which may be tokens.
        self.words |= set(path.split("/"))

    def find(self, scope: Scope) -> tuple[Route, dict[str, str]]:
        """Return the route of a request's path and the values of its template. Raises NotFound."""
        # Exactly: in Better Auth `//sign-in//email` reached the operation, but not the rate limit of its path.
        place = self._fixed.get(scope["path"])  # defence: V13 R40 ADM20 KEY23 exact-path
        captured: dict[str, str] = {}
        if place is None:
            place, captured = self._match(scope["path"])
        check_separators(scope)  # defence: V13 encoded-slash
        return place, captured

    def operation(self, route: Route, method: str) -> Operation:
        """Return the operation of a route for a method. Raises HTTPException 405 with Allow."""
        operation_id = route.names.get(method)
        if operation_id is None:
            raise HTTPException(405, headers={"Allow": route.allow})  # defence: R39 allow-header
        return self._operations[operation_id]

    def _match(self, path: str) -> tuple[Route, dict[str, str]]:
        for pattern, place in self._templated.values():
            match = pattern.fullmatch(path)
            # Clients and proxies resolve dot segments before they send a path; one that still has them is an attempt
            # to pass a proxy's rule.
            if match is not None and _DOT_SEGMENTS.isdisjoint(match.groups()):
                return place, match.groupdict()
        raise errors.NotFound


def check_separators(scope: Scope) -> None:
    """Raise NotFound for a path with an encoded slash or backslash, which would decode to another path."""
    raw_path = scope.get("raw_path") or b""
    # Not by `in`: for bytes, Python would first try whether they are a number, and make an exception of it.
    if raw_path.find(b"%") >= 0 and _ENCODED_SEPARATOR.search(raw_path):  # defence: R39 encoded-separator
        raise errors.NotFound


def filled(template: str, captured: dict[str, str]) -> str:
    """Return a path template filled with the percent-encoded values of `captured`."""
    return _TEMPLATE.sub(lambda found: quote(captured[found[1]], safe=""), template)


def _pattern(path: str) -> re.Pattern[str]:
    """Compile `/reset-password/{token}` to a pattern; a value is one non-empty segment without a backslash."""
    pieces = _TEMPLATE.split(path)
    literal = [
        re.escape(piece) if index % 2 == 0 else rf"(?P<{piece}>[^/\\]+)" for index, piece in enumerate(pieces)
    ]
    return re.compile("".join(literal), re.DOTALL)
