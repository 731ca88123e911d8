"""Import whole packages, so that the declarations in their modules are registered without a list of modules.

Also import single modules late, when they are first used, because the service can start without them.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def lazy_import(name: str) -> Any:
    """Import a module and return it. Call it where the module is used, so that the service starts without the module.

    It is for modules that few services need, or whose libraries are large. Callers pass the full name as a literal, so
    that a test finds and imports all of these modules.
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
    """Return all elements of the tuples called `name` in the modules of a package."""
    return [element for module in import_modules(package) for element in getattr(module, name, ())]


@cache
def merged(package: ModuleType, name: str, *, except_for: Collection[str] = ()) -> Mapping[str, Any]:
    """Return one mapping that combines the mappings called `name` in the modules of a package.

    Raises ValueError if two modules have the same key.
    """
    mapping: dict[str, Any] = {}
    for module in import_modules(package, except_for=except_for):
        for key, value in getattr(module, name, {}).items():
            if key in mapping:
                raise ValueError(f"{module.__name__}.{name} declares {key} again")
            mapping[key] = value
    return mapping
