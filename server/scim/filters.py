"""Filters of the SCIM protocol: parsed by scim2-models, and reduced to the comparisons that the database supports."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scim2_models import SCIMException
from scim2_models.path import (
    AttrPath,
    Comparison,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ScimFilter,
    ValuePath,
)

from domain import identifiers
from domain.scim.errors import InvalidFilter
from domain.scim.protocol import Condition, Operator

MOST_CHARACTERS = 1024
MOST_CONDITIONS = 10
FEWEST_CONTAINED = 3
"""The fewest characters of a text for the operator `co` (contains)."""

_ATTRIBUTES = {
    name.lower(): name
    for name in (
        *("userName", "emails", "emails.value", "externalId", "id"),
        *("active", "displayName", "meta.lastModified"),
    )
}
_OPERATORS: Mapping[str, Sequence[Operator]] = {
    "active": ("eq", "pr"),
    "meta.lastModified": ("eq", "gt", "ge", "lt", "le", "pr"),
}
_OF_TEXT: Sequence[Operator] = ("eq", "co", "sw", "gt", "ge", "lt", "le", "pr")
_TYPED_EMAILS = re.compile(r'emails\[type eq "[a-z]{1,16}"\]\.value', re.IGNORECASE)
"""How Entra ID names an address in filters. A user has one address here, whatever its type."""


def conditions(model: Any, text: str) -> Sequence[Condition]:
    """Parse a filter for a resource `model`; return its conditions, all of which must be met. Raises InvalidFilter."""
    if len(text) > MOST_CHARACTERS:  # defence: SSO12 filter-length
        raise InvalidFilter("The filter is longer than 1,024 characters")
    try:
        tree = ScimFilter[model](_TYPED_EMAILS.sub("emails.value", text)).ast
    except (SCIMException, ValueError, RecursionError) as malformed:
        raise InvalidFilter("The filter cannot be parsed") from malformed
    found = _Conditions().visit(tree)
    if len(found) > MOST_CONDITIONS:
        raise InvalidFilter("The filter has more than 10 conditions")
    return found


class _Conditions(FilterVisitor[list[Condition]]):
    def visit_comparison(self, node: Comparison) -> list[Condition]:
        return [_condition(node.attr_path, str(node.op), node.value)]

    def visit_present(self, node: Present) -> list[Condition]:
        return [_condition(node.attr_path, "pr", None)]

    def visit_logical_expr(self, node: LogicalExpr) -> list[Condition]:
        if node.op != LogicalOperator.and_:
            raise InvalidFilter("`or` is not supported")
        return [condition for term in node.terms for condition in self.visit(term)]

    def visit_not(self, node: Not) -> list[Condition]:
        raise InvalidFilter("`not` is not supported")

    def visit_value_path(self, node: ValuePath) -> list[Condition]:
        raise InvalidFilter("Filters in brackets are not supported")


def _condition(path: AttrPath, operator: str, value: Any) -> Condition:
    name = _ATTRIBUTES.get((f"{path.attr}.{path.sub_attr}" if path.sub_attr else path.attr).lower())
    if name is None:
        raise InvalidFilter("The filter names an attribute that cannot be searched")
    known = [each for each in _OPERATORS.get(name, _OF_TEXT) if each == operator]
    if not known:
        raise InvalidFilter(f"{name} cannot be compared with {operator}")
    name = "emails.value" if name == "emails" else name
    return Condition(name, known[0], None if operator == "pr" else _value(name, operator, value))


def _value(name: str, operator: str, value: Any) -> str | bool | datetime:
    if name == "active":
        spelled = {"true": True, "false": False}.get(str(value).lower())
        if spelled is None:
            raise InvalidFilter("active is true or false")
        return spelled
    if not isinstance(value, str) or "\0" in value:
        raise InvalidFilter(f"{name} is compared with a text")
    if operator == "co" and len(value) < FEWEST_CONTAINED:
        raise InvalidFilter("co needs three characters or more")
    return _instant(value) if name == "meta.lastModified" else value


def _instant(text: str) -> datetime:
    # A time without a zone is one in UTC.
    instant = identifiers.instant_or_none(text) or identifiers.instant_or_none(f"{text}Z")
    if instant is None:
        raise InvalidFilter("meta.lastModified is compared with a time")
    return instant
