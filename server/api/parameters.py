"""Query and path parameters: read from the request target, converted, and validated together."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from connexion.decorators.parameter import pythonic

from server.api.validation import NOT_UTF8, NUL, TWICE, Failures, Schema

# At most 18 digits, which always fit a 64-bit column; Python refuses to convert more than 4300.
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Reads, converts and validates the query parameters or the path parameters of an operation."""

    place: str
    schema: Schema
    converters: dict[str, Callable[[str], Any]]
    """Converters by wire name. A converter returns the value of a text, or an invalid text unchanged."""
    arguments: dict[str, str]
    """The handler's names by wire name."""
    required: bool
    lists: frozenset[str] = frozenset()
    """The names of the parameters that may be given several times; each becomes a list."""
    takes_any_text: bool = False
    """Whether U+0000 is allowed: the text is compared, cleaned or passed on, but never stored."""

    def read_query(self, query: bytes, failures: Failures) -> dict[str, Any]:
        """Return the converted values of the declared parameters in a query string; ignore all others.

        Adds a problem to `failures` for text that is not UTF-8 or has U+0000, and for a parameter given twice.
        """
        values: dict[str, Any] = {}
        for piece in query.split(b"&") if query else ():
            name, _, text = piece.partition(b"=")
            field = _decoded(name)
            if field is None or field not in self.converters:
                continue  # defence: R40 unknown-parameter
            value = self._value(field, _decoded(text), failures)
            if field in self.lists:
                values.setdefault(field, []).append(value)
                continue
            # Programs disagree on whether the first or the last value counts, and one of them may have checked the
            # other.
            if field in values:  # defence: V9 single-target
                failures[self.schema.name(field)] = TWICE
            values[field] = value
        return values

    def read_fields(self, fields: Mapping[str, str], failures: Failures) -> dict[str, Any]:
        """Return the converted values of the declared parameters in the non-empty fields of a form.

        Adds a problem to `failures` for text that has U+0000.
        """
        return {
            name: self._value(name, fields[name], failures) for name in self.arguments if fields.get(name)
        }

    def read_path(self, captured: dict[str, str]) -> dict[str, Any]:
        """Return the converted values of the path template. U+0000 is allowed: a token that contains it is unknown."""
        return {name: self.converters[name](text) for name, text in captured.items()}

    def check(self, values: dict[str, Any], failures: Failures) -> None:
        """Validate values with the schema. Adds the problems to `failures`, which keeps the first one of each field."""
        if not self.schema.is_valid(values):
            for field, text in self.schema.failures(values).items():
                failures.setdefault(field, text)

    def fill(self, arguments: dict[str, Any], values: dict[str, Any]) -> None:
        """Set every parameter in `arguments` under the handler's name; an absent parameter is None."""
        for name, argument in self.arguments.items():
            arguments[argument] = values.get(name)

    def _value(self, field: str, text: str | None, failures: Failures) -> Any:
        if text is None:
            failures.setdefault(self.schema.name(field), NOT_UTF8)
            return ""
        if "\0" in text and not self.takes_any_text:  # defence: R32 nul-parameter
            failures.setdefault(self.schema.name(field), NUL)
        return self.converters[field](text)


def compile_parameters(
    place: str, parameters: Iterable[dict[str, Any]], *, takes_any_text: bool = False
) -> Parameters | None:
    """Compile the parameters whose `in` is `place` (`query` or `path`); return None if there are none."""
    declared = [parameter for parameter in parameters if parameter["in"] == place]
    if not declared:
        return None
    properties = {parameter["name"]: parameter["schema"] for parameter in declared}
    required = [parameter["name"] for parameter in declared if parameter.get("required")]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return Parameters(
        place=place,
        schema=Schema(place, schema),
        converters={name: _converter(declared) for name, declared in properties.items()},
        arguments={name: pythonic(name) for name in properties},
        required=bool(required),
        lists=frozenset(name for name, declared in properties.items() if declared.get("type") == "array"),
        takes_any_text=takes_any_text,
    )


def _decoded(text: bytes) -> str | None:
    try:
        return unquote_to_bytes(text.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _converter(schema: dict[str, Any]) -> Callable[[str], Any]:
    """Return a function that converts the text of a parameter, or of one of its items, to its type.

    Raises ValueError for a type that cannot be written as text.
    """
    if schema.get("type") == "array":
        return _converter(schema["items"])
    type_ = schema.get("type", "string")
    converters: dict[str, Callable[[str], Any]] = {
        "string": str,
        "boolean": _boolean,
        "integer": lambda text: int(text) if _INTEGER.fullmatch(text) else text,
        "number": lambda text: float(text) if _NUMBER.fullmatch(text) else text,
    }
    if type_ not in converters:
        raise ValueError(f"a parameter of type {type_} cannot be read from a request target")
    return converters[type_]


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)
