"""Measures of a JSON value from outside, without recursion: its depth, and the number of its values."""

from collections.abc import Iterator
from typing import Any


def depth(value: Any) -> int:
    """Return the levels of arrays and objects in a value; without recursion, which could outgrow the stack."""
    levels, containers = 0, [value]
    while containers := [item for item in containers if isinstance(item, dict | list)]:
        levels += 1
        containers = [member for container in containers for member in _members(container)]
    return levels


def is_longer(value: Any, members: int) -> bool:
    """Return whether a value has more than so many members, at all levels together."""
    waiting, met = [value], 0
    while waiting and met <= members:
        inside = _members(waiting.pop())
        met += len(inside)
        waiting.extend(inside)
    return met > members


def contains_nul(value: Any) -> bool:
    """Return whether U+0000 occurs in any string of a parsed value, names of members included."""
    return any("\0" in text for text in _strings(value))


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        if isinstance(item, dict):
            yield from item
        waiting.extend(_members(item))
