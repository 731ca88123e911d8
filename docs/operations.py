"""The reference of operations, generated from the contract: a page for each tag, and one for all named objects."""

from typing import Any

import orjson

from codegen.bundle import bundle
from codegen.walk import Operation, operations, resolve
from docs.curl import command
from docs.markdown import code, fenced, folded, one_line, page, table
from docs.schemas import Reading

FOLDER = "reference/operations"
_SUCCESS = ("200", "302", "303")
_CALLERS = {
    frozenset[str](): "anybody",
    frozenset({"bearerAuth", "cookieAuth"}): "a signed-in user",
    frozenset({"bearerAuth", "cookieAuth", "nobody"}): "anybody; a signed-in user is recognised",
    frozenset({"bearerAuth", "cookieAuth", "pendingBearerAuth", "pendingCookieAuth"}): (
        "a signed-in user, or a sign-in that waits for its second factor"
    ),
}
"""Who may call, by the security schemes of an operation."""


def pages() -> dict[str, str]:
    """Give every page of the reference by its path on the site."""
    document = bundle()
    made = {f"{FOLDER}/{tag['name']}.md": _tag_page(document, tag) for tag in document["tags"]}
    return {f"{FOLDER}/index.md": _index(document), "reference/types.md": _types(document), **made}


def link(operation: Operation, here: str) -> str:
    """Give a link to an operation; `here` leads from the page it stands on to the root of the site."""
    tag = operation.spec["tags"][0]
    return f"[{operation.path}]({here}{FOLDER}/{tag}.md#{anchor(operation)})"


def anchor(operation: Operation) -> str:
    """Give the name an operation has on its page."""
    return str(operation.spec["operationId"]).replace(".", "-").replace("_", "-")


def security(document: dict[str, Any], operation: Operation) -> frozenset[str]:
    """Give the security schemes of an operation; `nobody` stands for none, where some are optional."""
    wanted = operation.spec.get("security", document["security"])
    return frozenset(name for one in wanted for name in (one or ("nobody",)))


def _index(document: dict[str, Any]) -> str:
    info = document["info"]
    rows = [
        (
            f"{operation.method.upper()} [{operation.path}]({operation.spec['tags'][0]}.md#{anchor(operation)})",
            one_line(operation.spec["summary"]),
            _CALLERS[security(document, operation)],
        )
        for operation in operations(document)
    ]
    return page(
        "# Operations",
        f"Version {info['version']} of the contract. A running service shows the same interactively at `/docs`, and"
        " gives the document at `/openapi.json`, unless [`documents.enabled`](../settings.md#documents) is"
        " false; `gatewright openapi` prints it.",
        info["description"],
        "## All of them",
        table(("Operation", "What it does", "For whom"), rows),
        "## The examples",
        "Each operation is shown as a command for curl. They take the address of the service and the token of a"
        " sign-in, or of one that waits for its second factor, from three variables:",
        fenced(
            "sh",
            "BASE=http://127.0.0.1:8000\nTOKEN='the token of a sign-in'\nPENDING='the token of a pending one'",
        ),
    )


def _types(document: dict[str, Any]) -> str:
    reading = Reading(document, "../")
    parts = [
        page(f"## {name}", schema.get("description", ""), reading.fields(schema))
        for name, schema in reading.objects().items()
    ]
    return page("# Objects", "What requests and answers are made of, by the names of the contract.", *parts)


def _tag_page(document: dict[str, Any], tag: dict[str, Any]) -> str:
    of_tag = [one for one in operations(document) if one.spec["tags"] == [tag["name"]]]
    title = tag["name"].replace("_", "-").capitalize()
    return page(f"# {title}", tag["description"], *(_operation(document, one) for one in of_tag))


def _operation(document: dict[str, Any], operation: Operation) -> str:
    spec, reading = operation.spec, Reading(document, "../../")
    return page(
        f"## {spec['summary']} {{ #{anchor(operation)} }}",
        f"`{operation.method.upper()} {operation.path}` · for {_CALLERS[security(document, operation)]}",
        spec["description"],
        reading.parameters(_parameters(document, operation)) if _parameters(document, operation) else "",
        _body(document, operation, reading),
        fenced("sh", command(document, operation, security(document, operation))),
        *_successes(document, operation, reading),
        _errors(document, operation),
        _names(operation),
    )


def _parameters(document: dict[str, Any], operation: Operation) -> list[dict[str, Any]]:
    shared: list[dict[str, Any]] = document["paths"][operation.path].get("parameters", [])
    return [*shared, *operation.spec.get("parameters", [])]


def _body(document: dict[str, Any], operation: Operation, reading: Reading) -> str:
    if "requestBody" not in operation.spec:
        return ""
    body = resolve(document, operation.spec["requestBody"])
    [(media_type, content)] = body["content"].items()
    needed = "" if body.get("required") else " It may be left out."
    return page(
        f"**Body** ({code(media_type)}): {one_line(body['description'])}{needed}",
        reading.fields(content["schema"]),
    )


def _successes(document: dict[str, Any], operation: Operation, reading: Reading) -> list[str]:
    """Give the answers that are no errors, each with its example."""
    made = []
    for status in _SUCCESS:
        if status in operation.spec["responses"]:
            made.append(_success(document, status, operation.spec["responses"][status], reading))
    return made


def _success(document: dict[str, Any], status: str, response: dict[str, Any], reading: Reading) -> str:
    answer = resolve(document, response)
    parts = [f"**{status}**: {one_line(answer['description'])}"]
    for media_type, content in answer.get("content", {}).items():
        if media_type == "application/json":
            parts.append(f"Answers: {reading.kind(content['schema'])}.")
            parts += [fenced("json", _pretty(value)) for value in _examples(document, content)]
    return page(*parts)


def _examples(document: dict[str, Any], content: dict[str, Any]) -> list[Any]:
    if "example" in content:
        return [content["example"]]
    return [resolve(document, one)["value"] for one in content.get("examples", {}).values()]


def _pretty(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def refusals(document: dict[str, Any], operation: Operation) -> dict[int, list[str]]:
    """Give the codes an operation answers with, by status."""
    found: dict[int, list[str]] = {}
    for status, response in operation.spec["responses"].items():
        if status not in _SUCCESS:
            content = resolve(document, response).get("content", {}).get("application/json", {})
            found[int(status)] = list(dict.fromkeys(body["code"] for body in _examples(document, content)))
    return dict(sorted(found.items()))


def _errors(document: dict[str, Any], operation: Operation) -> str:
    rows = [
        (
            str(status),
            " ".join(f"[{name}](../errors.md#{name.lower()})" for name in codes),
            one_line(resolve(document, operation.spec["responses"][str(status)])["description"]),
        )
        for status, codes in refusals(document, operation).items()
    ]
    return folded("Errors", table(("Status", "Code", "When"), rows))


def _names(operation: Operation) -> str:
    tag, _, verb = operation.spec["operationId"].partition(".")
    return (
        f"`{operation.spec['operationId']}` in the contract, `gatewright_client.api.{tag}.{verb}` in Python,"
        f" `gatewright.{camel(tag)}.{camel(verb)}()` in TypeScript."
    )


def camel(name: str) -> str:
    """Give a name as TypeScript spells it: `revoke_others` is `revokeOthers`."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
