"""What a typed client sends: where the service takes several forms of a value, the one that is natural in a language
with types, as the contract's extension `x-client-form` gives it. `true` and `"true"` are one switch.
"""

from typing import Any

from codegen.walk import change_schemas

EXTENSION = "x-client-form"
_KEPT = ("description", "example")


def client_forms(document: dict[str, Any]) -> dict[str, Any]:
    """A copy of the document that admits one form where the contract admits several."""
    return change_schemas(document, _client_form)


def _client_form(schema: dict[str, Any]) -> dict[str, Any]:
    if EXTENSION not in schema:
        return schema
    form = schema[EXTENSION]
    return form if "$ref" in form else {**{key: schema[key] for key in _KEPT if key in schema}, **form}
