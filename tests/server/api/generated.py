"""Requests made up from the contract's schemas: some that fit, some with a field missing or of another kind."""

import string
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

FORM = "application/x-www-form-urlencoded"
ODD: list[Any] = [None, 1, 1.5, True, [], {}, "", [1], {"a": "b"}, "x" * 70000]
"""Values that are wrong nearly everywhere."""

SCOPE_LETTERS = string.ascii_letters + string.digits + " :._-"
BY_PATTERN = (
    ("^[ !#", SCOPE_LETTERS),
    ("^[ -~]", SCOPE_LETTERS),
    ("^[!-~]", string.ascii_letters + string.digits + ":/.-"),
    ("^[a-z0-9-]", string.ascii_lowercase + string.digits + "-"),
    ("^[A-Za-z", string.ascii_letters),
)
"""The letters of texts by the beginnings of their patterns."""
WEB_ADDRESSES = ("https://example.com/a.png", "http://example.com/")
BY_FORMAT = {
    "email": ("ada@example.com", "A.B+c@x-y.test", "o@a.b.co"),
    "date-time": ("2027-03-09T08:15:30.250Z", "2027-03-09T08:15:30+01:00"),
    "redirect-target": ("/welcome?x=1", "https://app.test/in", ""),
    "uri": WEB_ADDRESSES,
}
BY_PART = {
    "[Pp]": WEB_ADDRESSES,
    "[Tt]": ("true", "FALSE", "tRue"),
    "^([1-9]": ("", "1", "60"),
    "^[0-9]{0,15}": ("", "0", "1000"),
    "{0,49}": ("a:0", "mX4cQ7vN1pRk9TzY2bLw6HdFgS8jUaEo:1767268800000,b:1"),
    "{1,14}": ("1773044130250.pW2nX8cL5vB1mK7qR4tZ9yHf3GsJ6dAe", "0.a"),
    "{2,8}(?:[_-]": ("de", "pt-BR", "zh_Hant-TW"),
    "|never)": ("3600", "never", ""),
    r"[^\s": ("Laptop", " Ada's phone 漢😀"),
}
"""Texts by a part of their patterns: URLs, booleans as text, tags of languages, lifetimes, names."""
LETTERS = string.ascii_letters + string.digits + " äß漢😀-_.@"


@dataclass(frozen=True)
class Sent:
    """A request to one operation, without its credentials."""

    method: str
    path: str
    query: dict[str, str | list[str]]
    body: Any
    form: bool

    @property
    def label(self) -> str:
        """Return method and path, for messages."""
        return f"{self.method} {self.path}"


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that fit a schema of the kinds the contract uses."""
    if schema.get("nullable"):
        return st.one_of(st.none(), fitting({key: part for key, part in schema.items() if key != "nullable"}))
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema and "format" not in schema:
            return st.one_of([fitting(part) for part in schema[key]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _of_type(schema)


def _of_type(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "boolean":
        return st.booleans()
    if kind == "integer":
        return st.integers(schema.get("minimum", 0), schema.get("maximum", 1000))
    if kind == "array":
        shortest = schema.get("minItems", 0)
        return st.lists(fitting(schema.get("items", {"type": "string"})), min_size=shortest, max_size=3)
    if kind == "object":
        return _object(schema)
    return _text(schema)


def _text(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    pattern = schema.get("pattern", "")
    if schema.get("format") in BY_FORMAT:
        return st.sampled_from(BY_FORMAT[schema["format"]])
    for part, fit in BY_PART.items():
        if part in pattern:
            return st.sampled_from(fit)
    shortest, longest = schema.get("minLength", 0), min(schema.get("maxLength", 40), 40)
    letters = next((found for begin, found in BY_PATTERN if pattern.startswith(begin)), LETTERS)
    return st.text(letters, min_size=max(shortest, letters == string.ascii_letters), max_size=longest)


def _object(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: fitting(field) for name, field in schema.get("properties", {}).items()}
    required = schema.get("required", [])
    others = schema.get("additionalProperties")
    unknown = fitting(others) if isinstance(others, dict) else st.just(1)
    return st.fixed_dictionaries(
        {name: fields[name] for name in required},
        optional={name: field for name, field in fields.items() if name not in required}
        | {"unknown": unknown},
    )


def _sent(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@st.composite
def requests(draw: st.DrawFn, method: str, path: str, operation: dict[str, Any], *, wrong: bool) -> Sent:
    """Return requests to an operation whose references are resolved; `wrong` spoils one field of most of them."""
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace(
                f"{{{parameter['name']}}}", draw(st.text(string.ascii_letters, min_size=1, max_size=9))
            )
    in_query = {p["name"]: p for p in parameters if p["in"] == "query"}
    query = {
        name: draw(fitting(parameter["schema"]))
        for name, parameter in in_query.items()
        if draw(st.booleans()) or (parameter.get("required") and not wrong)
    }
    content = operation.get("requestBody", {}).get("content", {})
    body = draw(_object(next(iter(content.values()))["schema"])) if content else {}
    if wrong and body:
        name = draw(st.sampled_from(sorted(body)))
        body = {key: item for key, item in body.items() if key != name}
        if draw(st.booleans()):
            body[name] = draw(st.sampled_from(ODD))
    texts = {
        name: [*map(_sent, value)] if isinstance(value, list) else _sent(value)
        for name, value in query.items()
    }
    return Sent(method.upper(), path, texts, body, FORM in content)
