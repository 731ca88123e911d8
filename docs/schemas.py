"""Describe schemas of the contract for people: the type of a value, and a table of an object's fields."""

from typing import Any

import orjson

from codegen.walk import resolve
from docs.markdown import code, one_line, table

Schema = dict[str, Any]

TYPES = "reference/types.md"
"""The page of all named objects."""

_WORDS = {"integer": "whole number", "object": "object", "string": "text", "boolean": "true or false"}
_FORMATS = {
    "date-time": "time",
    "email": "email address",
    "redirect-target": "redirect URL",
    "uri": "URL",
}


class Reading:
    """The descriptions of one document; `here` leads from the generated page to the root of the site, such as `../`."""

    def __init__(self, document: Schema, here: str) -> None:
        self._document = document
        self._here = here

    def fields(self, schema: Schema) -> str:
        """Return the table of an object's fields: name, whether it is required, type, meaning."""
        plain = resolve(self._document, schema)
        required = plain.get("required", ())
        rows = [
            (code(name), "yes" if name in required else "", self.kind(field), self._meaning(field))
            for name, field in plain.get("properties", {}).items()
        ]
        return table(("Field", "Required", "Type", "Meaning"), rows)

    def parameters(self, parameters: list[Schema]) -> str:
        """Return the table of an operation's parameters."""
        rows = [
            (
                code(resolved["name"]),
                resolved["in"],
                "yes" if resolved.get("required") else "",
                self.kind(resolved["schema"]),
                one_line(resolved["description"]),
            )
            for resolved in (resolve(self._document, parameter) for parameter in parameters)
        ]
        return table(("Parameter", "In", "Required", "Type", "Meaning"), rows)

    def kind(self, schema: Schema) -> str:
        """Return the type of a value in a few words; a named object is a link to its fields."""
        if "$ref" in schema:
            return self._named(schema)
        said = " or ".join(dict.fromkeys(self._kinds(schema))) or "anything"
        nullable = schema.get("nullable") and "null" not in said
        return f"{said}{_bounds(schema)}{' or null' if nullable else ''}"

    def _named(self, schema: Schema) -> str:
        name = schema["$ref"].rpartition("/")[2]
        resolved = resolve(self._document, schema)
        if name in self.objects():
            return f"[{name}]({self._here}{TYPES}#{name.lower()}){' or null' if resolved.get('nullable') else ''}"
        return self.kind(resolved)

    def objects(self) -> dict[str, Schema]:
        """Return the named schemas that have fields, by name."""
        schemas: dict[str, Schema] = self._document["components"]["schemas"]
        return {name: definition for name, definition in schemas.items() if "properties" in definition}

    def _kinds(self, schema: Schema) -> list[str]:
        if "x-client-form" in schema and "enum" not in schema:
            return [self.kind(schema["x-client-form"])]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return [self.kind(member) for member in schema[key]]
        if "enum" in schema:
            return [
                "null" if value is None else code(orjson.dumps(value).decode()) for value in schema["enum"]
            ]
        if schema.get("type") == "array":
            return [f"list of {self.kind(schema['items'])}"]
        if "type" not in schema and "allOf" in schema:
            return [self.kind(member) for member in schema["allOf"]]
        type_ = str(schema.get("type", ""))
        return [_FORMATS.get(schema.get("format", ""), _WORDS.get(type_, type_))]

    def _meaning(self, field: Schema) -> str:
        """Return the description of a field, or that of the schema it refers to."""
        return one_line(field.get("description") or resolve(self._document, field).get("description", ""))


def _bounds(schema: Schema) -> str:
    """Return how long or large a value may be, if the contract limits values that people choose."""
    if "enum" in schema or schema.get("format") == "date-time":
        return ""
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if schema.get("type") == "string" and most is not None:
        return f" ({least} to {most:,} characters)" if least else f" (at most {most:,} characters)"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" ({low} to {high})"
    return f" (at least {low})" if low is not None else ""
