"""The inputs of operations of the SCIM protocol: the path, the query and the JSON body as they were sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from domain.scim.errors import InvalidSyntax
from domain.scim.request import ScimRequest
from server.api import request_body
from server.api.headers import RequestHeaders
from server.json_depth import contains_nul, depth

REQUEST = "request"
"""The handler's argument in operations of the SCIM protocol: a `ScimRequest`."""
MEDIA_TYPE = "application/scim+json"
MOST_NESTED = 32
"""Most levels of nested arrays and objects in a body."""


@dataclass(frozen=True, slots=True)
class ScimInputs:
    """Reads the inputs of one SCIM operation.

    They are not validated against the contract: the code in `domain` does that and raises the errors of the protocol.
    """

    reads_body: bool
    media_type: str = MEDIA_TYPE
    query: None = None
    path: None = None

    def parse(self, raw: bytes, head: RequestHeaders) -> Any:
        """Return the value of the body. Raises UnsupportedMediaType, BadRequest, InvalidSyntax."""
        value = request_body.parse(raw, head, MEDIA_TYPE, request_body.JSON)
        if contains_nul(value) or depth(value) > MOST_NESTED:  # defence: R32 scim-body
            raise InvalidSyntax(f"The body has U+0000, or is nested more than {MOST_NESTED} deep")
        return value

    def arguments(
        self, query: bytes, captured: Mapping[str, str], content: Any, raw: bytes
    ) -> dict[str, Any]:
        """Return the request as the argument `REQUEST`.

        Raises InvalidSyntax if the query is not UTF-8, or has U+0000 or a name twice.
        """
        try:
            pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
        except ValueError:
            raise InvalidSyntax("The query is not UTF-8") from None
        fields = dict(pairs)
        if len(fields) != len(pairs):  # defence: SSO12 one-value
            raise InvalidSyntax("The query has a parameter twice")
        if any("\0" in text for text in (*fields.values(), *captured.values())):
            raise InvalidSyntax("The query has U+0000")
        return {REQUEST: ScimRequest(id=captured.get("id", ""), query=fields, body=content)}

    def shown_again(self, fields: Mapping[str, str], captured: dict[str, str]) -> dict[str, Any]:
        """Return no arguments, because a SCIM operation has no form that could be shown again."""
        return {}
