"""Import whole packages, so that the declarations in their modules are registered without a list of modules; and
import modules that a start does not need when they are first used."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def lazy_import(name: str) -> Any:
    """Return a module that is imported when it is first used, because few services need it or its libraries are large.

    Modules name it in full and as a literal, so that a test finds and imports all of them.
    """
    return import_module(name)


def import_modules(package: ModuleType, *, except_for: Collection[str] = ()) -> Sequence[ModuleType]:
    """Import and return every module of a package and its subpackages, except those with these full names."""
    modules = []
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        if module.name not in except_for:
            imported = import_module(module.name)
            modules.append(imported)
            if module.ispkg:
                modules += import_modules(imported, except_for=except_for)
    return modules


@cache
def declared(package: ModuleType, name: str) -> Sequence[Any]:
    """Return the elements of the tuples that modules of a package have under this name."""
    return [element for module in import_modules(package) for element in getattr(module, name, ())]


@cache
def merged(package: ModuleType, name: str, *, except_for: Collection[str] = ()) -> Mapping[str, Any]:
    """Return one mapping of those that modules of a package have under this name.

    Raises ValueError for a key that two modules declare.
    """
    mapping: dict[str, Any] = {}
    for module in import_modules(package, except_for=except_for):
        for key, value in getattr(module, name, {}).items():
            if key in mapping:
                raise ValueError(f"{module.__name__}.{name} declares {key} again")
            mapping[key] = value
    return mapping
