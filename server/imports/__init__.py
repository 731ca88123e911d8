"""Importing a library without what it imports for uses that this service has not: a third of the memory of a start."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

Names = tuple[str, ...] | Mapping[str, object]
"""What is in a module that stands in for another one: names, or what is given for them."""

StandIns = Mapping[str, Names]
"""By the names of the modules that they stand in for."""


@contextmanager
def without(*absent: str, hollow: StandIns | None = None, late: StandIns | None = None) -> Iterator[None]:
    """Inside, have these modules missing, or others in their place that cost nothing.

    Missing is for what a library can do without. A hollow module has nothing but the given names, each an empty class
    unless something else is given: for what a library never uses here. A late one has the given names as functions, and
    the real one is loaded when one of them is called, or anything else in it is asked for: for what a library uses
    seldom; nothing is lost by it. What has been imported before stays as it is, and what others import afterwards is
    whole; but a name that the library has taken from a hollow module into its own stays what it is in this process.
    """
    made = {name: _hollow(name, names) for name, names in (hollow or {}).items()}
    made |= {name: _late(name, names) for name, names in (late or {}).items()}
    put = {name: one for name, one in {**dict.fromkeys(absent), **made}.items() if name not in sys.modules}
    sys.modules.update(put)  # type: ignore[arg-type]  # None is how Python is told that there is none
    _hang_in(put[name] for name in late or () if name in put)
    try:
        yield
    finally:
        for name, one in put.items():
            if sys.modules.get(name) is one:
                del sys.modules[name]


class _Late(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # By which Python asks whether it is a package, and the like.
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


def _hollow(name: str, names: Names) -> ModuleType:
    return _filled(ModuleType(name), names, lambda each: type(each, (), {}))


def _late(name: str, names: Names) -> ModuleType:
    return _filled(_Late(name), names, partial(_calling, name))


def _filled(module: ModuleType, names: Names, make: Callable[[str], object]) -> ModuleType:
    vars(module).update(names if isinstance(names, Mapping) else {each: make(each) for each in names})
    return module


def _calling(module: str, name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(_real(module), name)(*arguments, **named)

    return call


def _real(name: str) -> ModuleType:
    if isinstance(sys.modules.get(name), _Late):
        del sys.modules[name]
    return import_module(name)


def _hang_in(modules: Iterator[ModuleType | None]) -> None:
    """Make modules what their packages have under their names: after `import a.b`, the importer asks `a` for `b`."""
    for module in filter(None, modules):
        package, _, name = module.__name__.rpartition(".")
        if package:
            setattr(import_module(package), name, module)
