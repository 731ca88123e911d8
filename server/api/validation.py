"""Validation of values by the schemas of the contract.

A schema is compiled when its first value arrives. Most operations are seldom used, and compiling all schemas would take
a fifth of the startup time.

Messages contain names and limits of the contract only, never a value that the client sent.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from jsonschema_rs import Draft4Validator, RegexOptions, ValidationError

from domain import errors
from server.json_depth import contains_nul, depth, is_longer

Failures = dict[str, str]
"""Problems by field: `body.email` → `is required`. Each field occurs once."""

_DEEP = 100
"""Levels of nesting above which a field is refused for its depth; the validator itself stops at about 250."""

_MANY = 100
"""Members above which a field gets a single error: finding every wrong one of 30 000 would block the event loop."""

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
_PLURAL = re.compile(r"\b(character|item|member)s\b")


def refuse(failures: Failures) -> None:
    """Raise one ValidationError with all failed fields, if there are any."""
    if failures:
        sentences = (f"[{field}] {text}" for field, text in failures.items())
        raise errors.ValidationError("; ".join(sentences), *_fields(failures))


def _fields(failures: Failures) -> Iterator[errors.Field]:
    """Yield the failed fields, without the entry for the whole body."""
    for field, text in failures.items():
        place, _, name = field.partition(".")
        if name:
            yield errors.Field(place, name, text)


class Schema:
    """The compiled schema of an object: the body, or all query or path parameters of an operation together."""

    def __init__(self, place: str, schema: dict[str, Any]) -> None:
        """Create the schema; it is compiled later. `place` is `body`, `query` or `path`; `schema` is OpenAPI 3.0's."""
        self.properties: dict[str, Any] = schema.get("properties", {})
        """The schemas of the members, as the contract has them."""
        self._schema = schema
        self._place = place
        self._fields: dict[str, Draft4Validator] = {}

    @cached_property
    def _plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = to_json_schema(self._schema)
        return plain

    @cached_property
    def _validator(self) -> Draft4Validator:
        return _compile(self._plain)

    @cached_property
    def _names(self) -> frozenset[str]:
        return _names_in(self._plain)

    def is_valid(self, value: Any) -> bool:
        """Return whether the value is valid. This is the fast path; `failures` is slower."""
        return _fits(self._validator, value)

    def failures(self, value: Any) -> Failures:
        """Return the problems of an invalid value by field, in the contract's order of fields."""
        if not isinstance(value, dict):
            return {self._place: NO_OBJECT}
        by_field: Failures = {}
        for name in self.properties:
            if name in value:
                by_field.update(self._field_failures(name, value[name]))
            elif name in self._schema.get("required", ()):
                by_field[self.name(name)] = REQUIRED
        return by_field or {self._place: WRONG_FORM}

    def nul_failures(self, value: dict[str, Any]) -> Failures:
        """Return the fields that contain U+0000, with that problem; for a member without a schema, the whole value."""
        names = [name for name, item in value.items() if contains_nul([name, item])]
        return {self.name(name if name in self.properties else ""): NUL for name in names}

    def name(self, field: str) -> str:
        """Return a field's name for messages: `body.email`, or `body` for the whole."""
        return f"{self._place}.{field}" if field else self._place  # defence: R36 field-name

    def _field_failures(self, name: str, value: Any) -> Failures:
        schema, validator = self._plain["properties"][name], self._field(name)
        if depth(value) > _DEEP:
            # defence: R27 field-depth
            return {} if _fits(validator, value) else {self.name(name): TOO_DEEP}
        if validator.is_valid(value):
            return {}
        if is_longer(value, _MANY):
            return {self.name(name): outline(schema, value)}
        by_field: Failures = {}
        met: set[str] = set()
        for error in validator.iter_errors(value):
            field, shown = self._path(name, error)
            if field not in met:
                met.add(field)
                text = describe(error, schema)  # defence: V88 field-message
                by_field[self.name(shown)] = (
                    f"has a member that {text}" if self._is_in_unnamed(error) else text
                )
        return by_field

    def _field(self, name: str) -> Draft4Validator:
        """Return the validator of a single field, compiled at its first use, because only a refusal needs it."""
        validator = self._fields.get(name)
        if validator is None:
            validator = self._fields[name] = _compile(self._plain["properties"][name])
        return validator

    def _is_in_unnamed(self, error: ValidationError) -> bool:
        """Return whether an error is about the value of a member whose name is not in the contract."""
        last = error.instance_path[-1] if error.instance_path else 0
        return error.kind.name != "required" and isinstance(last, str) and last not in self._names

    def _path(self, name: str, error: ValidationError) -> tuple[str, str]:
        """Return the path of an error, without and with positions in lists: a list is one field.

        Only names of the contract and positions may appear in it: any other name was sent by the client.
        """
        path = [name, *error.instance_path]
        if error.kind.name == "required":
            path.append(error.kind.as_dict()["property"])
        names = [step for step in path if step in self._names]
        shown = [step for step in path if isinstance(step, int) or step in self._names]
        return ".".join(map(str, names)), ".".join(map(str, shown))


def _compile(schema: dict[str, Any]) -> Draft4Validator:
    # The regular expressions of this engine take linear time, so no input can make them backtrack.
    return Draft4Validator(schema, pattern_options=RegexOptions(), validate_formats=True)


def _fits(validator: Draft4Validator, value: Any) -> bool:
    """Return whether a value is valid; a value nested deeper than the validator allows is invalid."""
    try:
        return validator.is_valid(value)
    except ValueError:
        return False


def _names_in(schema: Any) -> frozenset[str]:
    """Return all member names that occur anywhere in a schema."""
    names: set[str] = set()
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            names.update(item.get("properties", ()))
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return frozenset(names)


def to_json_schema(schema: Any) -> Any:
    """Convert a schema of OpenAPI 3.0 to JSON Schema draft 4: `nullable` becomes an additional type or value."""
    if isinstance(schema, list):
        return [to_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {
        key: to_json_schema(item)
        for key, item in schema.items()
        if key not in ("nullable", "example", "examples")
    }
    if schema.get("nullable") is not True:
        return plain
    if "enum" in plain:
        plain["enum"] = [*plain["enum"], None]
    if "type" in plain:
        return {**plain, "type": [plain["type"], "null"]}
    return {"anyOf": [{"type": "null"}, plain]}


def describe(error: ValidationError, schema: dict[str, Any]) -> str:
    """Return the message for an error without the field's name, such as `must be an email address`."""
    kind = error.kind.name
    details = {} if kind in ("anyOf", "oneOf") else error.kind.as_dict()
    rule = _at(schema, error.schema_path[:-1])
    if kind in _LIMITS:
        return _limit(kind, details["limit"])
    if kind == "required":
        return REQUIRED
    if kind == "type":
        return f"must be {_alternatives(details['types'])}"
    if kind == "enum":
        return f"must be one of {', '.join(str(option) for option in details['options'])}"
    if kind == "multipleOf":
        return f"must be a multiple of {details['multiple_of']}"
    return {
        "uniqueItems": "must not have the same item twice",
        "additionalProperties": "must not have other members",
        "falseSchema": "must not have other members",
    }.get(kind) or _form(rule)


def _limit(kind: str, limit: float) -> str:
    if limit == 0 and kind in ("maxLength", "maxItems", "maxProperties"):
        return "must be empty"
    text = _LIMITS[kind].format(limit)
    return _PLURAL.sub(r"\1", text) if limit == 1 else text


def outline(rule: dict[str, Any], value: Any) -> str:
    """Return the message for a value with too many members to search for the invalid one."""
    if isinstance(value, list) and len(value) > rule.get("maxItems", len(value)):
        return _limit("maxItems", rule["maxItems"])
    return _form(rule)


def _form(rule: dict[str, Any]) -> str:
    """Return the name of the form that a pattern, format or choice of schemas requires, if the contract has one."""
    parts = [rule, *rule.get("allOf", [])]
    branches = [
        *parts,
        *(branch for schema in parts for key in ("anyOf", "oneOf") for branch in schema.get(key, [])),
    ]
    if any(branch.get("type") == "boolean" for branch in branches):
        return f"must be {_TYPES['boolean']}"
    formats = [_FORMATS[branch["format"]] for branch in branches if branch.get("format") in _FORMATS]
    return f"must be {formats[0]}" if formats else WRONG_FORM


def _alternatives(types: Sequence[str]) -> str:
    """Return the names of the types, `null` last."""
    return " or ".join(_TYPES[name] for name in sorted(types, key="null".__eq__))


def _at(schema: dict[str, Any], path: Sequence[str | int]) -> dict[str, Any]:
    """Return the subschema at a path; an empty one if the path is not in the schema."""
    step: Any = schema
    for key in path:
        try:
            step = step[key]
        except (KeyError, IndexError, TypeError):
            return {}
    return step if isinstance(step, dict) else {}
