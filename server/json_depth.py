"""Measures of a parsed JSON value that a client sent: its depth, its number of values, and whether it has U+0000.

The functions do not recurse, because a deeply nested value could outgrow the stack.
"""

from collections.abc import Iterator
from typing import Any


def depth(value: Any) -> int:
    """Return how many levels of nested arrays and objects a value has; 0 if it is neither an array nor an object."""
    levels, containers = 0, [value]
    while containers := [item for item in containers if isinstance(item, dict | list)]:
        levels += 1
        containers = [member for container in containers for member in _members(container)]
    return levels


def is_longer(value: Any, members: int) -> bool:
    """Return whether a value has more than `members` members in total, counted in all nested arrays and objects."""
    waiting, met = [value], 0
    while waiting and met <= members:
        inside = _members(waiting.pop())
        met += len(inside)
        waiting.extend(inside)
    return met > members


def contains_nul(value: Any) -> bool:
    """Return whether U+0000 occurs in any string of a value, including the names of members."""
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
