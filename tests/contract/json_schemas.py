"""Schemas of the contract with the components that they refer to, for validators."""

from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def with_components(schema: dict[str, Any], document_3_1: dict[str, Any]) -> dict[str, Any]:
    """`schema` of a 3.1 document together with the component schemas it needs, as one JSON Schema 2020-12."""
    components = document_3_1.get("components", {}).get("schemas", {})
    needed = {name: components[name] for name in sorted(_needed(schema, components))}
    return {"$schema": DIALECT, **schema, "components": {"schemas": needed}}


def _needed(schema: dict[str, Any], components: dict[str, Any]) -> set[str]:
    """The names of all component schemas that `schema` refers to, directly or through others."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        for name in _named(waiting.pop()) - found:
            found.add(name)
            waiting.append(components[name])
    return found


def _named(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(_named, node))
    if not isinstance(node, dict):
        return set()
    if isinstance(reference := node.get("$ref"), str):
        return {reference.removeprefix("#/components/schemas/")}
    return set().union(*map(_named, node.values()))
