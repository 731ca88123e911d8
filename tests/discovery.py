"""Modules of a package, for declarations that tests collect without a list of modules."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def modules(package: ModuleType) -> Iterator[Any]:
    """Import and yield each module of a package, in the order of their names."""
    for module in sorted(iter_modules(package.__path__), key=lambda module: module.name):
        yield import_module(f"{package.__name__}.{module.name}")
