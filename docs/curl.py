"""Convert an operation of the contract to a curl command."""

from shlex import quote
from typing import Any
from urllib.parse import quote as escaped
from urllib.parse import urlencode

import orjson

from codegen.walk import Operation, resolve

Document = dict[str, Any]

_USELESS_WITHOUT = {
    "social.get_profile": ("providerId",),
    "social.receive_callback": ("code", "state"),
    "users.confirm_deletion": ("token",),
    "service.show_error": ("error",),
}
"""Optional parameters that an example needs to be meaningful."""


def command(document: Document, operation: Operation, security: frozenset[str]) -> str:
    """Return the curl command; its variables are defined at the beginning of the reference."""
    parts = [f'curl -sS "$BASE{_target(document, operation)}"']
    parts += _caller(security)
    parts += _body(document, operation)
    has_body = any(part.startswith("-d") for part in parts)
    if operation.method != "get" and not (has_body and operation.method == "post"):
        parts.append(f"-X {operation.method.upper()}")
    return " \\\n  ".join(parts)


def _target(document: Document, operation: Operation) -> str:
    """Return path and query, with the examples of required parameters."""
    path, query = operation.path, {}
    needed = _USELESS_WITHOUT.get(operation.spec["operationId"], ())
    shared = document["paths"][operation.path].get("parameters", [])
    for parameter in (
        resolve(document, reference) for reference in [*shared, *operation.spec.get("parameters", [])]
    ):
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", escaped(str(_example(document, parameter))))
        elif parameter.get("required") or parameter["name"] in needed:
            query[parameter["name"]] = _example(document, parameter)
    return f"{path}?{urlencode(query)}" if query else path


def _caller(security: frozenset[str]) -> list[str]:
    if "pendingBearerAuth" in security:
        return ['-H "Authorization: Bearer $PENDING"']
    if "verifierAuth" in security:
        return ['-H "Authorization: Bearer $VERIFIER"']
    if "scimTokenAuth" in security:
        return ['-H "Authorization: Bearer $SCIM_TOKEN"']
    if "oauthTokenAuth" in security:
        return ['-H "Authorization: Bearer $ACCESS_TOKEN"']
    return ['-H "Authorization: Bearer $TOKEN"'] if "bearerAuth" in security else []


def _body(document: Document, operation: Operation) -> list[str]:
    if "requestBody" not in operation.spec:
        return []
    body = resolve(document, operation.spec["requestBody"])
    media_type, content = next(iter(body["content"].items()))
    value = _example(document, content)
    if not media_type.endswith("json"):
        return [f"--data-urlencode {quote(f'{name}={field}')}" for name, field in value.items()]
    return [f"-H 'Content-Type: {media_type}'", f"-d {quote(orjson.dumps(value).decode())}"]


def _example(document: Document, holder: Document) -> Any:
    """Return the first example of a parameter or body."""
    if "example" in holder:
        return holder["example"]
    return resolve(document, next(iter(holder["examples"].values())))["value"]
