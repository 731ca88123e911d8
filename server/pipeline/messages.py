"""What a schema's complaint sounds like to people: names and limits of the contract only, never a value sent."""

from collections.abc import Sequence
from typing import Any

from jsonschema_rs import ValidationError

NUL = "must not contain U+0000"
TOO_DEEP = "is nested too deeply"
TWICE = "must be given only once"
NOT_UTF8 = "must be percent-encoded UTF-8"
REQUIRED = "is required"
NO_OBJECT = "must be an object"
WRONG_FORM = "has the wrong form"

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}

_FORMATS = {
    "email": "an email address",
    "uri": "a URL",
    "date-time": "a point in time",
    "hostname": "a host name",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "redirect-target": "a relative path or a URL",
}

_LIMITS = {
    "maxLength": "must be at most {} characters long",
    "minLength": "must be at least {} characters long",
    "maximum": "must be at most {}",
    "minimum": "must be at least {}",
    "exclusiveMaximum": "must be less than {}",
    "exclusiveMinimum": "must be greater than {}",
    "maxItems": "must have at most {} items",
    "minItems": "must have at least {} items",
    "maxProperties": "must have at most {} members",
    "minProperties": "must have at least {} members",
}


def describe(error: ValidationError, schema: dict[str, Any]) -> str:
    """Give the end of the sentence that begins with the field: `must be an email address`."""
    kind = error.kind.name
    details = {} if kind in ("anyOf", "oneOf") else error.kind.as_dict()
    rule = _at(schema, error.schema_path[:-1])
    if kind in _LIMITS:
        return _LIMITS[kind].format(details["limit"])
    if kind == "required":
        return REQUIRED
    if kind == "type":
        return f"must be {_either(details['types'])}"
    if kind == "enum":
        return f"must be one of {', '.join(str(option) for option in details['options'])}"
    if kind == "multipleOf":
        return f"must be a multiple of {details['multiple_of']}"
    return {
        "uniqueItems": "must not have the same item twice",
        "additionalProperties": "must not have other members",
        "falseSchema": "must not have other members",
    }.get(kind) or _form(rule)


def outline(rule: dict[str, Any], value: Any) -> str:
    """Give a complaint about a value with too many members to look for the wrong one."""
    if isinstance(value, list) and len(value) > rule.get("maxItems", len(value)):
        return _LIMITS["maxItems"].format(rule["maxItems"])
    return _form(rule)


def _form(rule: dict[str, Any]) -> str:
    """Name the form a pattern, format or choice of schemas stands for, as far as the contract names it."""
    parts = [rule, *rule.get("allOf", [])]
    branches = [
        *parts,
        *(branch for part in parts for key in ("anyOf", "oneOf") for branch in part.get(key, [])),
    ]
    if any(branch.get("type") == "boolean" for branch in branches):
        return f"must be {_TYPES['boolean']}"
    formats = [_FORMATS[branch["format"]] for branch in branches if branch.get("format") in _FORMATS]
    return f"must be {formats[0]}" if formats else WRONG_FORM


def _either(types: Sequence[str]) -> str:
    """Name the types, `null` last."""
    return " or ".join(_TYPES[name] for name in sorted(types, key="null".__eq__))


def _at(schema: dict[str, Any], path: Sequence[str | int]) -> dict[str, Any]:
    """Give the part of a schema a path leads to; nothing when it leads out of it."""
    step: Any = schema
    for key in path:
        try:
            step = step[key]
        except (KeyError, IndexError, TypeError):
            return {}
    return step if isinstance(step, dict) else {}
