"""The rows of the threat list, from `threats.toml`, and the tests marked with them."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("threats.toml")

_ROW = re.compile(r"(ADM|JWT|KEY|ORG|SSO|WH|[CHMNOPRV])0*([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Row:
    """One attack or fault."""

    name: str
    attack: str


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one kind, under a heading."""

    title: str
    rows: tuple[Row, ...]


def read() -> tuple[Group, ...]:
    """Return the groups in their order."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["group"]
    return tuple(
        Group(group["title"], tuple(Row(name, attack) for name, attack in group["rows"].items()))
        for group in listed
    )


def row_name(text: str) -> str:
    """Return a row's name as the list spells it: `v04` is V4. Raises ValueError for what names no row."""
    match = _ROW.fullmatch(text.upper())
    if match is None:
        raise ValueError(f"{text!r} is no row; rows are called V47 or R26")
    return match[1] + match[2]
