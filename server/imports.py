"""Importing a library without what it imports for uses that this service has not: a third of the memory of a start."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

Hollow = Mapping[str, tuple[str, ...]]


@contextmanager
def without(*absent: str, hollow: Hollow | None = None) -> Iterator[None]:
    """Inside, have these modules missing, or (`hollow`) there with nothing but the given names, all of them None.

    Missing is for what a library can do without, hollow for what it never uses here. What has been imported before
    stays as it is, and what others import afterwards is whole; but a name that the library has taken from a hollow
    module into its own is None for all of this process.
    """
    made = {name: _made(name, names) for name, names in (hollow or {}).items()}
    missing = {
        name: one for name, one in {**dict.fromkeys(absent), **made}.items() if name not in sys.modules
    }
    sys.modules.update(missing)  # type: ignore[arg-type]  # None is how Python is told that there is none
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def _made(name: str, names: tuple[str, ...]) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(dict.fromkeys(names))
    return module
