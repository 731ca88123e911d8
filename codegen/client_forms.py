"""What a typed client sends: where the service takes several forms of a value, the one that is natural in a language
with types, as the contract's extension `x-client-form` gives it. `true` and `"true"` are one switch.

Patterns are left out. They are written in the dialect of ECMA-262, generated clients check them in that of their own
language, and not all of those know `\\u0000`: the PHP client refused every password. Nor is a client's date a text.
"""

from typing import Any

from codegen.walk import change_schemas, inside

EXTENSION = "x-client-form"
_KEPT = ("description", "example")
_OF_TEXTS = ("pattern", "maxLength")
"""What a date-time says about its text; in a client it is a date, which some print in another length."""


def client_forms(document: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document that admits one form where the contract admits several, and has no patterns."""
    return change_schemas(document, lambda schema: _without_patterns(_client_form(schema)))


def _client_form(schema: dict[str, Any]) -> dict[str, Any]:
    if EXTENSION not in schema:
        return schema
    form: dict[str, Any] = inside(schema[EXTENSION], _without_patterns)
    return form if "$ref" in form else {**{key: schema[key] for key in _KEPT if key in schema}, **form}


def _without_patterns(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its pattern, and without an `allOf` whose parts held nothing but further patterns."""
    unwanted = _OF_TEXTS if schema.get("format") == "date-time" else ("pattern",)
    kept = {key: value for key, value in schema.items() if key not in unwanted}
    if "type" in kept and all(part == {"type": kept["type"]} for part in kept.get("allOf", ())):
        kept.pop("allOf", None)
    return kept
