"""Describe the browser and the operating system that a User-Agent header names."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from domain.localization import Localization

if TYPE_CHECKING:
    from ua_parser import Parser

_LONGEST = 512
"""The most characters of a header that are parsed; browsers send around 150."""
_SHOWN = 100
"""The most characters that are shown of a header whose browser and system are unknown."""


def describe(localization: Localization, user_agent: str | None) -> str:
    """Return a browser and its system, such as `Firefox 145 on Windows`, in the language of the page.

    Without a header it is `Unknown device`; of a header that is not recognized it is the beginning.
    """
    if not user_agent or not user_agent.strip():
        return localization.gettext("Unknown device")
    program, system = _recognized(user_agent[:_LONGEST])
    if program and system:
        return localization.gettext("%(program)s on %(system)s") % {"program": program, "system": system}
    return program or system or user_agent[:_SHOWN]


@lru_cache(maxsize=1024)
def _recognized(user_agent: str) -> tuple[str | None, str | None]:
    """Return the name and major version of the browser, and the name of the system; None for each unknown value."""
    found = _parser().parse(user_agent)
    program, system = found.user_agent, found.os
    named = None if program is None else " ".join(filter(None, (program.family, program.major)))
    return named, None if system is None else system.family


@cache
def _parser() -> "Parser":
    """Return a parser of browsers and systems, which uses 17 MB; device models, not loaded, would add 15 MB."""
    from ua_parser import Parser, loaders, regex  # noqa: PLC0415 - loaded with its tables, for the first page with devices

    programs, systems, _ = loaders.load_lazy_builtins()
    return Parser(regex.Resolver((programs, systems, [])))
