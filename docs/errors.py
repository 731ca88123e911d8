"""Generate the reference of errors, from the refusals of the domain and the responses of the contract."""

from itertools import groupby

from codegen.bundle import bundle
from codegen.client_forms import for_programs, is_of_protocol
from codegen.walk import Operation, operations
from docs.markdown import code, folded, one_line, page, table
from docs.operations import error_anchor, link, refusals
from domain.errors import every_protocol_error, every_refusal
from domain.oauth_clients.errors import OAuthError

PAGE = "reference/errors.md"
_ALMOST = 8
"""If at most so many operations lack an error, only these are listed, as exceptions."""
_MANY = 12
"""Up to so many operations are listed openly; more are folded."""

Said = tuple[int, str, str, str]
"""Of a refusal: status, code, message, meaning."""


def pages() -> dict[str, str]:
    """Return the page of errors by its path on the site."""
    document = for_programs(bundle())
    every = list(operations(document))
    own = [operation for operation in every if not is_of_protocol(document, operation.spec)]
    answered: dict[tuple[int, str], list[Operation]] = {}
    for operation in every:
        for status, codes in refusals(document, operation).items():
            for name in codes:
                answered.setdefault((status, name), []).append(operation)
    codes = document["components"]["schemas"]["ErrorCode"]["enum"]
    said = sorted(one for one in _said() if one[1] in codes)
    by_code = groupby(sorted(said, key=lambda one: (one[1], one[0])), key=lambda one: one[1])
    entries = (_entry(name, list(of), answered, every, own) for name, of in by_code)
    return {PAGE: page(_INTRODUCTION, *entries, _PROTOCOL, *_protocol_entries(answered, every))}


_INTRODUCTION = """
# Errors

Every response from 400 upwards has the body `{"message": "…", "code": "…"}`. Programs compare the code, which never
changes; the message is a sentence for people and may change. Within a major version, codes are only added, so handle an
unknown code by its status. Responses with 429 or 503 have the seconds to wait before a retry in `Retry-After`.

[`VALIDATION_ERROR`](#validation_error), and no other code, also has `fields`: one entry for each field that is missing
or malformed, in the order of the message, so that a form can show each message next to its input. `in` is `body`,
`query` or `path`; `name` is the name of the field, or the path to it with dots. The list is empty if the error is not
in a single field, for example if the body is not an object.

```json
{
  "message": "[body.email] must be an email address; [body.password] is required",
  "code": "VALIDATION_ERROR",
  "fields": [
    {"in": "body", "name": "email", "message": "must be an email address"},
    {"in": "body", "name": "password", "message": "is required"}
  ]
}
```
"""


_PROTOCOL = """
## Errors of the OAuth protocol { #oauth }

Operations of the OAuth protocol, such as `/oauth2/token`, have errors of another form, which libraries for OpenID
Connect know (RFC 6749, 5.2): `{"error": "…", "error_description": "…"}`. The description is for developers. A client
that is not known gets 401 with `WWW-Authenticate: Basic`, an access token that is not accepted 401 or 403 with
`WWW-Authenticate: Bearer`. Refusals before the operation (404, 405, 408, 413, 414, 415 and 431) have the form of all
operations. The authorization endpoint sends errors to the client, in the query of its redirect URI.
"""

_GENERAL = (
    (429, "temporarily_unavailable", "Too many requests; `Retry-After` says when to retry."),
    (500, "server_error", "A bug in the service; logged with the request id."),
    (503, "temporarily_unavailable", "A dependency is unavailable; `Retry-After` says when to retry."),
)
"""Errors of the protocol that every operation can have."""


def _protocol_entries(answered: dict[tuple[int, str], list[Operation]], every: list[Operation]) -> list[str]:
    """Return the sections of the errors of the protocol."""
    said = {
        (error.status, error.error, one_line((error.__doc__ or "").split("\n\n")[0]))
        for error in every_protocol_error()
        if issubclass(error, OAuthError) and error is not OAuthError
    }
    entries = []
    for name, found in groupby(
        sorted({*said, *_GENERAL}, key=lambda one: (one[1], one[0])), lambda one: one[1]
    ):
        rows = list(found)
        statuses = sorted({status for status, *_ in rows if (status, name) in answered})
        entries.append(
            page(
                f"### {name} {{ #{error_anchor(name)} }}",
                table(("Status", "Meaning"), [(str(status), meaning) for status, _, meaning in rows]),
                *(_where(status, answered[status, name], every) for status in statuses),
            )
        )
    return entries


def _said() -> set[Said]:
    """Return the description of every refusal, without duplicates."""
    descriptions = set()
    for refusal in every_refusal():
        meaning = one_line((refusal.__doc__ or "").split("\n\n")[0])
        descriptions.add((refusal.status, refusal.code, refusal.message, meaning))
    return descriptions


def _entry(
    name: str,
    said: list[Said],
    answered: dict[tuple[int, str], list[Operation]],
    every: list[Operation],
    own: list[Operation],
) -> str:
    """Return the section of an error code; a refusal that no operation lists occurs before routing.

    `own` are the operations outside the OAuth protocol.
    """
    documented = [one for one in said if (one[0], name) in answered] or said
    rows = [(str(status), one_line(message), meaning) for status, _, message, meaning in documented]
    statuses = sorted({status for status, *_ in documented if (status, name) in answered})
    return page(
        f"## {name} {{ #{name.lower()} }}",
        table(("Status", "Message", "Meaning"), rows),
        *(_where(status, answered[status, name], every, own) for status in statuses),
    )


def _where(
    status: int, answering: list[Operation], every: list[Operation], own: list[Operation] | None = None
) -> str:
    """Return the sentence that lists the operations with this error.

    If none of the OAuth protocol is among them, the others are `own`.
    """
    group = "every operation"
    if own is not None and all(each in own for each in answering):
        every, group = own, "every operation outside the OAuth protocol"
    missing = [each for each in every if each not in answering]
    listed = ", ".join(link(each, "../") for each in (missing if len(missing) <= _ALMOST else answering))
    if not missing:
        return f"{code(str(status))}: {group}."
    if len(missing) <= _ALMOST:
        return f"{code(str(status))}: {group} except {listed}."
    if len(answering) > _MANY:
        return folded(f"{status}: {len(answering)} operations", listed)
    return f"{code(str(status))}: {listed}."
