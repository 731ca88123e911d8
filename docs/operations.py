"""Generate the API reference from the OpenAPI document: a page per tag, and one page with all named objects."""

from typing import Any

import orjson

from codegen.bundle import bundle
from codegen.client_forms import for_programs, is_of_protocol
from codegen.walk import Operation, operations, resolve
from codegen.webhooks import schemas
from docs.curl import command
from docs.markdown import code, fenced, folded, one_line, page, table
from docs.schemas import Reading

FOLDER = "reference/operations"
_SUCCESS = ("200", "201", "302", "303")
_AUTHENTICATION = {
    frozenset[str](): "none",
    frozenset({"bearerAuth", "cookieAuth"}): "session",
    frozenset({"bearerAuth", "cookieAuth", "none"}): "session, optional",
    frozenset({"bearerAuth", "cookieAuth", "pendingBearerAuth", "pendingCookieAuth"}): (
        "session or pending sign-in"
    ),
    frozenset({"bearerAuth", "cookieAuth", "apiKeyAuth"}): "session or API key",
    frozenset({"verifierAuth"}): "verifier token",
    frozenset({"oauthClientAuth", "none"}): "client",
    frozenset({"oauthTokenAuth"}): "access token",
    frozenset({"oauthTokenAuth", "none"}): "initial access token, optional",
    frozenset({"scimTokenAuth"}): "token of a directory",
}
"""The required authentication, by the security schemes of an operation."""


def pages() -> dict[str, str]:
    """Return every page of the reference by its path on the site."""
    document = for_programs(bundle())
    made = {f"{FOLDER}/{tag['name']}.md": _tag_page(document, tag) for tag in document["tags"]}
    return {f"{FOLDER}/index.md": _index(document), "reference/types.md": _types(document), **made}


def link(operation: Operation, here: str) -> str:
    """Return a link to an operation; `here` leads from the page that contains it to the root of the site."""
    tag = operation.spec["tags"][0]
    return f"[{operation.path}]({here}{FOLDER}/{tag}.md#{anchor(operation)})"


def anchor(operation: Operation) -> str:
    """Return the anchor of an operation on its page."""
    return str(operation.spec["operationId"]).replace(".", "-").replace("_", "-")


def security(document: dict[str, Any], operation: Operation) -> frozenset[str]:
    """Return the security schemes of an operation, with `none` if authentication is optional."""
    requirements = operation.spec.get("security", document["security"])
    return frozenset(name for scheme in requirements for name in (scheme or ("none",)))


def _index(document: dict[str, Any]) -> str:
    info = document["info"]
    rows = [
        (
            f"{operation.method.upper()} [{operation.path}]({operation.spec['tags'][0]}.md#{anchor(operation)})",
            one_line(operation.spec["summary"]),
            _AUTHENTICATION[security(document, operation)],
        )
        for operation in operations(document)
    ]
    return page(
        "# API operations",
        f"Version {info['version']} of the OpenAPI document. A running service shows it interactively at `/docs` and"
        " serves it at `/openapi.json`, unless [`documents.enabled`](../settings.md#documents) is false."
        " `gatewright openapi` prints it.",
        info["description"],
        "## All operations",
        table(("Operation", "Description", "Authentication"), rows),
        "## Examples",
        "The example requests are curl commands. They use six variables: the URL of the service, the token of a"
        " session, the token of a pending sign-in, the token of a service that verifies API keys, an OAuth token,"
        " and the token of a directory:",
        fenced(
            "sh",
            "BASE=http://localhost:8000\nTOKEN='the token of a session'\nPENDING='the token of a pending sign-in'"
            "\nVERIFIER='the token of a verifier'\nACCESS_TOKEN='an access token of the OAuth provider'"
            "\nSCIM_TOKEN='a token of a directory'",
        ),
    )


def _types(document: dict[str, Any]) -> str:
    reading = Reading(document, "../")
    # Events have a page of their own: docs/webhook_events.py.
    events = [schema["$ref"].rpartition("/")[2] for schema in schemas(document).values()]
    events += [f"{event}Data" for event in events]
    parts = [
        page(f"## {name}", schema.get("description", ""), reading.fields(schema))
        for name, schema in reading.objects().items()
        if name not in events
    ]
    return page(
        "# Objects",
        "The objects in requests, responses and events, by their names in the OpenAPI document.",
        *parts,
    )


def _tag_page(document: dict[str, Any], tag: dict[str, Any]) -> str:
    of_tag = [operation for operation in operations(document) if operation.spec["tags"] == [tag["name"]]]
    title = tag["name"].replace("_", "-").capitalize()
    return page(f"# {title}", tag["description"], *(_operation(document, operation) for operation in of_tag))


def _operation(document: dict[str, Any], operation: Operation) -> str:
    spec, reading = operation.spec, Reading(document, "../../")
    return page(
        f"## {operation.method.upper()} {operation.path} {{ #{anchor(operation)} }}",
        f"**{spec['summary']}.** Authentication: {_AUTHENTICATION[security(document, operation)]}.",
        spec["description"],
        reading.parameters(_parameters(document, operation)) if _parameters(document, operation) else "",
        _body(document, operation, reading),
        "**Example request**",
        fenced("sh", command(document, operation, security(document, operation))),
        *_successes(document, operation, reading),
        _errors(document, operation),
        _names(document, operation),
    )


def _parameters(document: dict[str, Any], operation: Operation) -> list[dict[str, Any]]:
    shared: list[dict[str, Any]] = document["paths"][operation.path].get("parameters", [])
    return [*shared, *operation.spec.get("parameters", [])]


def _body(document: dict[str, Any], operation: Operation, reading: Reading) -> str:
    if "requestBody" not in operation.spec:
        return ""
    body = resolve(document, operation.spec["requestBody"])
    content = next(iter(body["content"].values()))
    media_types = " or ".join(code(media_type) for media_type in body["content"])
    optional = "" if body.get("required") else " Optional."
    return page(
        f"**Request body** ({media_types}): {one_line(body['description'])}{optional}",
        reading.fields(content["schema"]),
    )


def _successes(document: dict[str, Any], operation: Operation, reading: Reading) -> list[str]:
    """Return the success responses, each with its examples."""
    made = []
    for status in _SUCCESS:
        if status in operation.spec["responses"]:
            made.append(_success(document, status, operation.spec["responses"][status], reading))
    return made


def _success(document: dict[str, Any], status: str, response: dict[str, Any], reading: Reading) -> str:
    resolved = resolve(document, response)
    parts = [f"**Response {status}**: {one_line(resolved['description'])}"]
    for media_type, content in resolved.get("content", {}).items():
        if media_type == "application/json":
            parts.append(f"Body: {reading.kind(content['schema'])}.")
            for summary, value in _examples(document, content):
                label = f"**Example response**: {summary}" if summary else "**Example response**"
                parts += [label, fenced("json", _pretty(value))]
    return page(*parts)


def _examples(document: dict[str, Any], content: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return every example with its summary, which is empty for an unnamed one."""
    if "example" in content:
        return [("", content["example"])]
    named = (resolve(document, example) for example in content.get("examples", {}).values())
    return [(example["summary"], example["value"]) for example in named]


def _pretty(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def refusals(document: dict[str, Any], operation: Operation) -> dict[int, list[str]]:
    """Return the error codes of an operation, by status."""
    codes_by_status: dict[int, list[str]] = {}
    for status, response in operation.spec["responses"].items():
        if status not in _SUCCESS:
            content = resolve(document, response).get("content", {}).get("application/json", {})
            codes_by_status[int(status)] = list(
                dict.fromkeys(body.get("code", body.get("error")) for _, body in _examples(document, content))
            )
    return dict(sorted(codes_by_status.items()))


def _errors(document: dict[str, Any], operation: Operation) -> str:
    rows = [
        (
            str(status),
            " ".join(f"[{name}](../errors.md#{error_anchor(name)})" for name in codes),
            one_line(resolve(document, operation.spec["responses"][str(status)])["description"]),
        )
        for status, codes in refusals(document, operation).items()
    ]
    return folded("Errors", table(("Status", "Code", "When"), rows))


def error_anchor(name: str) -> str:
    """Return the anchor of an error on its page; those of the OAuth protocol, in lower case, may be named like ours."""
    return name.lower() if name.isupper() else f"oauth-{name}"


def _names(document: dict[str, Any], operation: Operation) -> str:
    tag, _, verb = operation.spec["operationId"].partition(".")
    if is_of_protocol(document, operation.spec):
        callers = (
            "directories call it"
            if tag == "scim"
            else "applications call it with a library for OpenID Connect"
        )
        operation_id = operation.spec["operationId"]
        return f"**Names**: operation ID `{operation_id}`; {callers}, so it is not in the generated clients."
    return (
        f"**Names**: operation ID `{operation.spec['operationId']}`; Python `gatewright_client.api.{tag}.{verb}`;"
        f" TypeScript `gatewright.{camel(tag)}.{camel(verb)}()`."
    )


def camel(name: str) -> str:
    """Return a name in TypeScript's spelling: `revoke_others` is `revokeOthers`."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
