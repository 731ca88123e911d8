"""Import whole packages, so that the declarations in their modules are registered without a list of modules."""

from collections.abc import Collection, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


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
